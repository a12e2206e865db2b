// Owns the precompiled header of all test programs.
int main() {}
