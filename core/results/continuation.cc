#include "results/continuation.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/library_variables.h"
#include "config/config_difference.h"
#include "mgcompare/error.h"

namespace mgcompare {
namespace {

std::string environment_value(const RunInfo& info, std::string_view key) {
  for (const auto& [name, value] : info.environment)
    if (name == key) return value;
  return "";
}

// The build or the library that has changed since the run began, the middle of a sentence; empty if none has. Older versions of the program
// did not record the builds. A back end that was added or removed shows in the devices.
std::string changed_code(const RunInfo& before, const RunInfo& now) {
  for (const auto& [file, sum] : before.builds) {
    const auto found = now.builds.find(file);
    if (found != now.builds.end() && found->second != sum) return fmt::format("another build of {}", file);
  }
  for (const char* key : {"oneDNN", "CUDA", "cuDNN", "cuBLASLt", "NCCL", "NVIDIA driver"}) {
    const std::string then = environment_value(before, key), current = environment_value(now, key);
    if (!then.empty() && !current.empty() && then != current) return fmt::format("{} {}, and this is {}", key, then, current);
  }
  return "";
}

}  // namespace

std::map<std::string, std::string> variables_of(const RunInfo& info) {
  const auto is_variable = [](const std::string& name) {
    return name.find('_') != std::string::npos &&
           std::all_of(name.begin(), name.end(), [](char c) { return c == '_' || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); });
  };
  std::map<std::string, std::string> variables;
  for (const auto& [name, value] : info.environment)
    if (is_variable(name) && changes_results(name)) variables[name] = value;
  return variables;
}

std::string changed_variable(const RunInfo& before, const RunInfo& now) {
  return different_variable(variables_of(before), variables_of(now), "now");
}

std::vector<std::string> differing_settings(const RunInfo& one, const std::string& other_config) {
  std::vector<std::string> keys = differing_keys(one.config_json, other_config);
  std::erase_if(keys, [](const std::string& key) {
    return key == "name" || key == "model" || key == "price_per_device_hour" || key == "hosts.launcher" || key == "hosts.timeout" ||
           key == "plugins" || key.starts_with("plugins.");
  });
  return keys;
}

void check_variables(const Run& run, const RunInfo& info) {
  if (const std::string changed = run.rows.empty() ? "" : changed_variable(run.info, info); !changed.empty())
    throw InUse(fmt::format("{}: the run was begun with {}: timings of two environments are not mixed; set the variable as it was, or run in another directory",
                            run.directory, changed));
}

void check_continues(const Run& run, const RunInfo& info, const std::vector<Trial>& plan,
                            const std::map<int, const Row*>& known) {
  if (run.info.config_json.empty())
    throw BadResults(fmt::format("{}: the record of the run is missing, so it cannot be continued: run without --resume, in another "
                                 "directory", run.directory));
  if (const std::vector<std::string> keys = differing_settings(run.info, info.config_json); !keys.empty()) {
    throw InUse(
        fmt::format("{}: contains the run of another config (different: {}): run without --resume, in another directory",
                    run.directory, fmt::join(keys, ", ")));
  }
  // Timings of two machines or two builds must not be mixed.
  if (!run.rows.empty() && run.info.program_version != info.program_version) {
    throw InUse(fmt::format("{}: the run was begun with mgcompare {}, this is {}: run in another directory", run.directory,
                            run.info.program_version, info.program_version));
  }
  if (const std::string changed = run.rows.empty() ? "" : changed_code(run.info, info); !changed.empty()) {
    throw InUse(fmt::format("{}: the run was begun with {}: timings of two builds are not mixed; run in another directory", run.directory, changed));
  }
  for (const char* key : {"cpu", "cpu cores", "cpu devices", "cuda devices", "cuda:0"}) {
    const std::string before = environment_value(run.info, key), now = environment_value(info, key);
    if (!before.empty() && !now.empty() && before != now) {
      if (now.find("`ulimit -v`") != std::string::npos)
        throw Error(fmt::format("{}: out of memory, so this machine cannot be compared with that of the run: {}", run.directory, now));
      throw InUse(fmt::format("{}: the run was begun on another machine ({}: {}, now {}): run in another directory",
                              run.directory, key, before, now));
    }
  }
  for (const Trial& trial : plan) {
    const auto found = known.find(trial.number);
    if (found == known.end() || is_damaged(*found->second)) continue;
    const TrialKey& before = found->second->trial;
    if (row_name(before) != row_name(trial) || before.seed != trial.seed) {
      throw InUse(
          fmt::format("{}: trial {} of this run is `{}` with seed {}, but `{}` with seed {} in this plan (have the "
                      "machine's devices changed, or the backends that it can run?): run in another directory",
                      run.directory, trial.number, row_name(before), before.seed, row_name(trial), trial.seed));
    }
  }
}

}  // namespace mgcompare
