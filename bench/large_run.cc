// Writes the run of 10,000 rows whose report scripts/bench --tool times: bench_large_run DIR

#include <exception>
#include <iostream>

#include "results/large_run.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "use: bench_large_run DIR\n";
    return 2;
  }
  try {
    mgcompare::make_large_run(argv[1]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 4;
  }
  return 0;
}
