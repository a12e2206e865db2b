// A management library with two GPUs: a sound one that was just used, and one that is hot, busy and has had memory
// errors.

#include <cstring>

namespace {

char kSound[] = "sound", kSick[] = "sick";
bool is_sick(const void* gpu) { return gpu == kSick; }

struct Memory {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned gpu, memory;
};

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default"))) int

FAKE nvmlInit_v2() { return 0; }
FAKE nvmlShutdown() { return 0; }
FAKE nvmlSystemGetDriverVersion(char* version, unsigned size) {
  std::strncpy(version, "580.95.05", size);
  return 0;
}
FAKE nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** gpu) {
  const bool first = std::strcmp(address, "0000:1b:00.0") == 0;
  if (!first && std::strcmp(address, "0000:3d:00.0") != 0) return 6;  // not found
  *gpu = first ? kSound : kSick;
  return 0;
}
FAKE nvmlDeviceGetClockInfo(void*, int type, unsigned* mhz) {
  *mhz = type == 0 ? 1200 : 2619;
  return 0;
}
FAKE nvmlDeviceGetMaxClockInfo(void*, int type, unsigned* mhz) {
  *mhz = type == 0 ? 1980 : 2619;
  return 0;
}
FAKE nvmlDeviceGetTemperature(void* gpu, int, unsigned* celsius) {
  *celsius = is_sick(gpu) ? 91 : 34;
  return 0;
}
FAKE nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 75'300;
  return 0;
}
FAKE nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700'000;
  return 0;
}
FAKE nvmlDeviceGetCurrentClocksThrottleReasons(void* gpu, unsigned long long* reasons) {
  *reasons = is_sick(gpu) ? 0x60 : 0x1;  // 0x1: idle, which is no slow-down
  return 0;
}
FAKE nvmlDeviceGetTotalEccErrors(void* gpu, int, int, unsigned long long* errors) {
  *errors = is_sick(gpu) ? 3 : 0;
  return 0;
}
FAKE nvmlDeviceGetMemoryInfo(void*, Memory* memory) {
  *memory = {150ull << 30, 120ull << 30, 30ull << 30};
  return 0;
}
FAKE nvmlDeviceGetUtilizationRates(void* gpu, Utilization* utilization) {
  *utilization = {is_sick(gpu) ? 85u : 40u, 0u};
  return 0;
}
FAKE nvmlDeviceGetComputeRunningProcesses_v3(void* gpu, unsigned* count, void*) {
  *count = is_sick(gpu) ? 1 : 0;
  return is_sick(gpu) ? 7 : 0;  // 7: the buffer is too small
}
