#include "cli/environment.h"

#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "base/library_variables.h"
#include "base/text.h"
#include "process/message.h"
#include "results/continuation.h"

namespace mgcompare {
namespace {

std::string first_line(const std::string& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

// The values of "key : value" lines, in order.
std::vector<std::string> values(const std::string& file, std::string_view key) {
  std::ifstream stream(file);
  std::vector<std::string> found;
  for (std::string line; std::getline(stream, line);) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    // The whole key: "cpu cores" must not match "cpu cores online".
    if (line.find_last_not_of(" \t", colon - 1) + 1 != key.size()) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    found.push_back(begin == std::string::npos ? "" : line.substr(begin));
  }
  return found;
}

std::size_t physical_cores() {
  const std::vector<std::string> packages = values("/proc/cpuinfo", "physical id");
  const std::vector<std::string> cores = values("/proc/cpuinfo", "core id");
  std::set<std::pair<std::string, std::string>> distinct;
  for (std::size_t i = 0; i < packages.size() && i < cores.size(); ++i) distinct.emplace(packages[i], cores[i]);
  return distinct.empty() ? values("/proc/cpuinfo", "processor").size() : distinct.size();
}

std::string caches() {
  std::string text;
  for (int index = 0; index < 8; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    const std::string size = first_line(folder + "size");
    if (size.empty()) break;
    const std::string type = first_line(folder + "type");
    text += fmt::format("{}L{}{} {}", text.empty() ? "" : ", ", first_line(folder + "level"),
                        type == "Data" ? "d" : type == "Instruction" ? "i" : "", size);
  }
  return text;
}

std::size_t numa_nodes() {
  std::size_t count = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/devices/system/node", ignored)) {
    const std::string name = entry.path().filename();
    if (name.size() > 4 && name.starts_with("node") && name.find_first_not_of("0123456789", 4) == std::string::npos) {
      ++count;
    }
  }
  return count;
}

void add_processor(Environment& all) {
  const std::vector<std::string> models = values("/proc/cpuinfo", "model name");
  all.emplace_back("cpu", models.empty() ? "" : models[0]);
  const std::size_t threads = values("/proc/cpuinfo", "processor").size(), cores = physical_cores();
  all.emplace_back("cpu cores", threads == 0 ? "" : fmt::format("{} physical, {} logical", cores, threads));
  all.emplace_back("cpu governor", first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
  all.emplace_back("cpu caches", caches());
  all.emplace_back("numa nodes", fmt::format("{}", numa_nodes()));
  const std::vector<std::string> flags = values("/proc/cpuinfo", "flags");
  const bool is_guest = !flags.empty() && flags[0].find("hypervisor") != std::string::npos;
  all.emplace_back("hypervisor", is_guest ? first_line("/sys/class/dmi/id/sys_vendor") : "none");
  all.emplace_back("cpu limit of the container", first_line("/sys/fs/cgroup/cpu.max"));
}

}  // namespace

Environment capture_environment(const std::vector<PlatformSummary>& platforms) {
  Environment all;
  add_processor(all);
  const double bytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  all.emplace_back("memory", fmt::format("{:.1f} GiB", bytes / (1024.0 * 1024 * 1024)));
  utsname kernel{};
  if (uname(&kernel) == 0) all.emplace_back("kernel", fmt::format("{} {} {}", kernel.sysname, kernel.release, kernel.machine));
  all.emplace_back("libc", fmt::format("glibc {}", gnu_get_libc_version()));
  all.emplace_back("compiler", fmt::format("g++ {}", __VERSION__));
  double load[1] = {0};
  if (getloadavg(load, 1) == 1) all.emplace_back(kLoadBefore, fmt::format("{:.2f}", load[0]));
  for (const PlatformSummary& platform : platforms) {
    all.emplace_back(platform.kind + " devices", platform.problem.empty() ? fmt::format("{}", platform.devices.size())
                                                                          : platform.problem);
    for (const DeviceSummary& device : platform.devices) {
      const std::string name = fmt::format("{}:{}", platform.kind, device.index);
      all.emplace_back(name, device.name);
      all.emplace_back(name + " state", fmt::format("{}", fmt::join(device.notes, ", ")));
    }
    for (const auto& [name, value] : platform.facts) all.emplace_back(name, value);
  }
  for (const auto& variable : library_variables()) all.push_back(variable);
  std::erase_if(all, [](const auto& fact) { return fact.second.empty(); });
  for (auto& [name, value] : all) value = plain(value);
  return all;
}

}  // namespace mgcompare
