#include "listing.h"

#include <filesystem>
#include <fstream>
#include <string_view>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "directory.h"
#include "keys.h"
#include "message.h"
#include "mgcompare/strategy.h"
#include "plugin_host.h"
#include "verification.h"

namespace mgcompare {
namespace {

constexpr std::string_view kSkeleton = R"(#include "mgcompare/strategy.h"

namespace {{

using namespace mgcompare;

// Every rank sums all gradients and updates its own copy; change step() to what is to be compared.
class {1} : public Strategy {{
 public:
  // Options are read here, once each: options.integer("every", 1, "exchange every so many steps", 1)
  {1}(Options&, const Facts&) {{}}

  Traits traits() const override {{
    Traits traits;
    traits.promise = Traits::Promise::exact;
    return traits;
  }}

  void step(Replica& replica, Group& group, const Batch& batch) override {{
    replica.backward(batch);
    group.all_reduce(replica.gradients());
    replica.update();
  }}
}};

}}  // namespace

MGCOMPARE_STRATEGY({1}, "{0}", "one line that says what it does")
)";

constexpr std::string_view kSkeletonBuild = R"(cmake_minimum_required(VERSION 3.25)
project({0} LANGUAGES CXX)
find_package(mgcompare REQUIRED)
mgcompare_add_strategy({0} {0}.cc)
)";

// "my_strategy" -> "MyStrategy"
std::string class_name(std::string_view name) {
  std::string result;
  bool upper = true;
  for (const char c : name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    result += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return result;
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw Error(fmt::format("{} cannot be written; go to a folder that can be", path));
}

// What a strategy says of itself when it is made without options, for two ranks.
StrategySummary summary_of(Prober& prober, const PluginSummary& plugin) {
  ProbeQuestion question;
  question.plugin_file = plugin.file;
  question.strategy.name = question.strategy.label = plugin.name;
  question.facts = {2, 1, 128, 469, 12, "sgd", 0.9, DeviceKind::cpu};
  return prober.ask({question}).front();
}

std::string traits_text(const Traits& traits) {
  return fmt::format("{}, {}{}", traits.promise == Traits::Promise::exact ? "exact" : "approximate",
                     traits.pace == Traits::Pace::lockstep ? "lockstep" : "free pace",
                     traits.models == Traits::Models::many ? ", many models" : "");
}

void print_strategy(Prober& prober, const PluginSummary& plugin) {
  fmt::print("{:<16} {}\n", plugin.name, plugin.description);
  const StrategySummary summary = summary_of(prober, plugin);
  if (!summary.crash.empty()) {
    fmt::print("{:<16} cannot be asked: {}\n\n", "", summary.crash);
    return;
  }
  for (const OptionProblem& problem : summary.problems) {
    if (problem.key.empty() && !problem.warning) fmt::print("{:<16} {}\n", "", problem.text);
  }
  fmt::print("{:<16} {}; {}\n", "", traits_text(summary.traits), plugin.file);
  for (const OptionSummary& option : summary.options) {
    fmt::print("{:<16}   {}: {}  {}{}, {}\n", "", option.key, option.value, option.type,
               option.range.empty() ? "" : " " + option.range, option.help);
  }
  fmt::print("\n");
}

}  // namespace

int list_plugins(const Command&) {
  WorkerProber prober(supervisor_settings());
  std::vector<std::string> refused;
  for (const PluginSummary& plugin : prober.plugins()) {
    if (plugin.problem.empty()) {
      print_strategy(prober, plugin);
    } else {
      refused.push_back(plugin.problem);
    }
  }
  for (const std::string& problem : refused) fmt::print("refused: {}\n", problem);
  fmt::print("looked in: {}\n", fmt::join(plugin_folders({}), ", "));
  return kDone;
}

int check_plugin(const Command& command) {
  const PluginSummary plugin = inspect_plugin(command.target);
  if (!plugin.problem.empty()) {
    fmt::print("{}\n", plugin.problem);
    return kProblemFound;
  }
  WorkerProber prober(supervisor_settings());
  const StrategySummary summary = summary_of(prober, plugin);
  if (!summary.crash.empty()) {
    fmt::print("{}: its constructor ends the process: {}\n", command.target, summary.crash);
    return kProblemFound;
  }
  bool is_fine = true;
  for (const OptionProblem& problem : summary.problems) {
    is_fine &= problem.warning;
    fmt::print("{}: {}{}\n", command.target, problem.key.empty() ? "" : problem.key + ": ", problem.text);
  }
  if (is_fine) fmt::print("{}: fine, strategy '{}' ({})\n", command.target, plugin.name, traits_text(summary.traits));
  return is_fine ? kDone : kProblemFound;
}

int new_plugin(const Command& command) {
  const std::string& name = command.target;
  if (name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos ||
      name[0] < 'a' || name[0] > 'z') {
    throw UsageError(fmt::format("'{}' cannot be a strategy's name: use small letters, digits and _, a letter first", name));
  }
  if (std::filesystem::exists(name)) throw UsageError(fmt::format("{} is there already; choose another name", name));
  std::error_code ignored;          // what could not be made cannot be written into either
  std::filesystem::create_directories(name, ignored);
  write_file(name + "/" + name + ".cc", fmt::format(fmt::runtime(kSkeleton), name, class_name(name)));
  write_file(name + "/CMakeLists.txt", fmt::format(fmt::runtime(kSkeletonBuild), name));
  fmt::print("{0}/{0}.cc\n{0}/CMakeLists.txt\n", name);
  tell("build it with: cmake -S {0} -B {0}/build -DCMAKE_PREFIX_PATH={1} && cmake --build {0}/build\n"
       "try it with: MGCOMPARE_PLUGIN_PATH={0}/build mgcompare plugins\n", name, prefix_folder());
  return kDone;
}

int explain_config(const Command& command) {
  try {
    fmt::print("{}", command.schema ? json_schema() : explain_keys(command.target));
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  return kDone;
}

int verify_strategies(const Command& command) {
  WorkerProber prober(supervisor_settings());
  const Config config = config_of(command, prober);
  prober.search(config.plugin_paths);
  return verify_in_worker(config, prober, command.quick, supervisor_settings()) ? kDone : kProblemFound;
}

}  // namespace mgcompare
