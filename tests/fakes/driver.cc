// An NVIDIA driver that finds no GPU. It answers the runtime's query for its version and nothing else.

#include <cstring>

namespace {

constexpr int kNoDevice = 100;

int nothing() { return kNoDevice; }

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default"))) int

FAKE cuInit(unsigned) { return kNoDevice; }
FAKE cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
FAKE cuGetProcAddress_v2(const char* name, void** function, int, unsigned long long, int* found) {
  *function = reinterpret_cast<void*>(&nothing);
  if (std::strcmp(name, "cuDriverGetVersion") == 0) *function = reinterpret_cast<void*>(&cuDriverGetVersion);
  if (std::strcmp(name, "cuGetProcAddress") == 0) *function = reinterpret_cast<void*>(&cuGetProcAddress_v2);
  if (found != nullptr) *found = 0;  // 0 is "found"
  return 0;
}
