#include "cuda/nvml.h"

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <memory>
#include <utility>

#include "mgcompare/error.h"

namespace mgcompare::cuda {
namespace {

// Constants of NVML's ABI, which is stable.
constexpr int kSuccess = 0;
constexpr int kGraphicsClock = 0, kMemoryClock = 2;
constexpr int kGpuTemperature = 0;
constexpr int kUncorrected = 1, kSinceDriverStart = 0;
constexpr std::array<std::pair<unsigned long long, const char*>, 4> kSlowdowns = {
    {{0x08, "the hardware (power or heat)"},
     {0x20, "its temperature (software limit)"},
     {0x40, "its temperature (hardware limit)"},
     {0x80, "an external power brake"}}};
constexpr unsigned kBusyPercent = 20;
constexpr int kInsufficientSize = 7;  // the list does not fit into the given buffer

struct Memory {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned gpu, memory;
};

template <class... Args>
std::string text(const char* format, Args... args) {
  std::array<char, 128> line{};
  std::snprintf(line.data(), line.size(), format, args...);
  return line.data();
}

}  // namespace

// Null for functions that an older driver lacks.
struct Nvml::Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*by_address)(const char*, Handle*) = nullptr;
  int (*clock)(Handle, int, unsigned*) = nullptr;
  int (*max_clock)(Handle, int, unsigned*) = nullptr;
  int (*temperature)(Handle, int, unsigned*) = nullptr;
  int (*power)(Handle, unsigned*) = nullptr;
  int (*power_limit)(Handle, unsigned*) = nullptr;
  int (*slowdowns)(Handle, unsigned long long*) = nullptr;
  int (*ecc_errors)(Handle, int, int, unsigned long long*) = nullptr;
  int (*memory)(Handle, Memory*) = nullptr;
  int (*utilization)(Handle, Utilization*) = nullptr;
  int (*processes)(Handle, unsigned*, void*) = nullptr;
};

Nvml::Nvml(const std::string& file) {
  library_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr)
    throw Error("clocks, temperature and power are not known: " + file +
                ", a part of the NVIDIA driver, cannot be opened");
  auto functions = std::make_unique<Functions>();
  const auto find = [this](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library_, name));
  };
  find(functions->init, "nvmlInit_v2");
  find(functions->shutdown, "nvmlShutdown");
  find(functions->driver_version, "nvmlSystemGetDriverVersion");
  find(functions->by_address, "nvmlDeviceGetHandleByPciBusId_v2");
  find(functions->clock, "nvmlDeviceGetClockInfo");
  find(functions->max_clock, "nvmlDeviceGetMaxClockInfo");
  find(functions->temperature, "nvmlDeviceGetTemperature");
  find(functions->power, "nvmlDeviceGetPowerUsage");
  find(functions->power_limit, "nvmlDeviceGetEnforcedPowerLimit");
  find(functions->slowdowns, "nvmlDeviceGetCurrentClocksThrottleReasons");
  find(functions->ecc_errors, "nvmlDeviceGetTotalEccErrors");
  find(functions->memory, "nvmlDeviceGetMemoryInfo");
  find(functions->utilization, "nvmlDeviceGetUtilizationRates");
  find(functions->processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  const int status = functions->init == nullptr || functions->by_address == nullptr ? -1 : functions->init();
  if (status != kSuccess) {
    dlclose(library_);
    throw Error("clocks, temperature and power are not known: " + file +
                (status == -1 ? " is older than this program can use"
                              : " does not start, its status is " + std::to_string(status)));
  }
  functions_ = functions.release();
}

Nvml::~Nvml() {
  if (functions_->shutdown != nullptr) functions_->shutdown();
  delete functions_;
  dlclose(library_);
}

std::string Nvml::driver_version() const {
  std::array<char, 96> version{};
  if (functions_->driver_version == nullptr ||
      functions_->driver_version(version.data(), version.size() - 1) != kSuccess)
    return "";
  return version.data();
}

template <class F>
std::optional<unsigned> Nvml::number(F function, Handle gpu) const {
  unsigned value = 0;
  if (function == nullptr || function(gpu, &value) != kSuccess) return std::nullopt;
  return value;
}

Nvml::Condition Nvml::condition(const std::string& pci_address) const {
  Condition condition;
  const Functions& f = *functions_;
  Handle gpu = nullptr;
  if (const int status = f.by_address(pci_address.c_str(), &gpu); status != kSuccess) {
    condition.problems.push_back("is unknown to NVML, the driver's management library (status " + std::to_string(status) +
                                 ")");
    return condition;
  }
  const auto note = [&](const std::string& text) { condition.notes.push_back(text); };
  for (const auto& [clock, name] : {std::pair{kGraphicsClock, "clock"}, std::pair{kMemoryClock, "memory clock"}}) {
    unsigned now = 0, max = 0;
    if (f.clock != nullptr && f.max_clock != nullptr && f.clock(gpu, clock, &now) == kSuccess &&
        f.max_clock(gpu, clock, &max) == kSuccess)
      note(text("%s %u of %u MHz", name, now, max));
  }
  unsigned celsius = 0;
  if (f.temperature != nullptr && f.temperature(gpu, kGpuTemperature, &celsius) == kSuccess)
    note(text("%u C", celsius));
  const auto power = number(f.power, gpu), limit = number(f.power_limit, gpu);
  if (power && limit) note(text("%.0f of %.0f W", *power / 1000.0, *limit / 1000.0));
  Memory memory{};
  if (f.memory != nullptr && f.memory(gpu, &memory) == kSuccess)
    note(text("%.1f GiB free", static_cast<double>(memory.free) / (1024.0 * 1024 * 1024)));

  unsigned long long slowdowns = 0, errors = 0;
  if (f.slowdowns != nullptr && f.slowdowns(gpu, &slowdowns) == kSuccess)
    for (const auto& [bit, cause] : kSlowdowns)
      if ((slowdowns & bit) != 0) condition.problems.push_back(std::string("is slowed down by ") + cause);
  if (f.ecc_errors != nullptr && f.ecc_errors(gpu, kUncorrected, kSinceDriverStart, &errors) == kSuccess && errors > 0)
    condition.problems.push_back(text("has had %llu uncorrected memory errors since its driver started", errors));
  // This program runs nothing on the GPU at this time. Utilisation alone may come from a process that has just ended.
  unsigned size = 0;
  const bool is_shared = f.processes != nullptr && f.processes(gpu, &size, nullptr) == kInsufficientSize;
  Utilization utilization{};
  if (is_shared && f.utilization != nullptr && f.utilization(gpu, &utilization) == kSuccess &&
      utilization.gpu > kBusyPercent)
    condition.problems.push_back(text("is busy %u %% of the time with work of other processes", utilization.gpu));
  return condition;
}

}  // namespace mgcompare::cuda
