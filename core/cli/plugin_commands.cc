#include "cli/plugin_commands.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "base/error_text.h"
#include "base/print.h"
#include "base/text.h"
#include "cli/directory.h"
#include "config/keys.h"
#include "config/kinds.h"
#include "config/problem.h"
#include "discovery/gpu_code.h"
#include "discovery/manifest.h"
#include "discovery/plugin_files.h"
#include "discovery/plugin_image.h"
#include "mgcompare/strategy.h"
#include "process/message.h"

namespace mgcompare {
namespace {

// A project of `plugins new`: {0} is the strategy's name, {1} its class.
struct Skeleton {
  std::string_view source, build;
};

constexpr Skeleton kSkeleton = {R"(#include "mgcompare/strategy.h"

namespace {{

using namespace mgcompare;

// Every rank sums all gradients and updates its own copy. Change step() to the strategy that you want to compare.
class {1} : public Strategy {{
 public:
  // Read every option here, for example: options.integer("every", 1, "steps from one exchange to the next", 1)
  {1}(Options&, const Facts&) {{}}

  Traits traits() const override {{
    Traits traits;
    traits.promise = Traits::Promise::exact;
    // Every step queues the same work, so GPUs replay steps as CUDA graphs. 0: the host decides in each step.
    traits.repeats_every = 1;
    return traits;
  }}

  void step(Replica& replica, Group& group, const Batch& batch) override {{
    replica.backward(batch);
    group.all_reduce(replica.gradients());
    replica.update();
  }}
}};

}}  // namespace

MGCOMPARE_STRATEGY({1}, "{0}", "a one-line description")
)",
                                R"(cmake_minimum_required(VERSION 3.25)
project({0} LANGUAGES CXX)
find_package(mgcompare REQUIRED)
mgcompare_add_strategy({0} {0}.cc)
)"};

constexpr Skeleton kCudaSkeleton = {R"(#include "mgcompare/arithmetic.h"
#include "mgcompare/strategy.h"

namespace {{

using namespace mgcompare;

// Arithmetic that runs on the rank's device: nvcc compiles it for GPUs and for CPUs. It may be any struct like this one.
struct Multiply {{
  float* vector;
  float factor;
  MGCOMPARE_FUNCTION void operator()(std::size_t i) const {{ vector[i] *= factor; }}
}};

// Every rank weights its mean gradient by its share of the samples, sums all of them and updates its own copy. Change step()
// to the strategy that you want to compare.
class {1} : public Strategy {{
 public:
  // Read every option here, for example: options.integer("every", 1, "steps from one exchange to the next", 1)
  {1}(Options&, const Facts&) {{}}

  Traits traits() const override {{
    Traits traits;
    traits.promise = Traits::Promise::exact;
    // Every step queues the same work, so GPUs replay steps as CUDA graphs. 0: the host decides in each step.
    traits.repeats_every = 1;
    return traits;
  }}

  void step(Replica& replica, Group& group, const Batch& batch) override {{
    replica.backward(batch, Scale::own_share);
    const Vec gradients = replica.gradients();
    const float share = static_cast<float>(batch.size()) / static_cast<float>(batch.global_size());
    for_each(replica.device(), gradients.size(), Multiply{{gradients.data(), share}});
    group.all_reduce(gradients);
    replica.update();
  }}
}};

}}  // namespace

MGCOMPARE_STRATEGY({1}, "{0}", "a one-line description")
)",
                                    R"(cmake_minimum_required(VERSION 3.25)
project({0} LANGUAGES CXX)
find_package(mgcompare REQUIRED)
# CUDA: compiled by nvcc where there is one, else for CPUs only. -DCMAKE_CUDA_ARCHITECTURES=... chooses GPU generations.
mgcompare_add_strategy({0} {0}.cc CUDA)
)"};

// "my_strategy" -> "MyStrategy", "group" -> "GroupStrategy". Without the suffix it might be a class of the SDK, such as Group.
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
  constexpr std::string_view kSuffix = "Strategy";
  return result.ends_with(kSuffix) && result != kSuffix ? result : result.append(kSuffix);
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw Error(fmt::format("{} cannot be written; change to a writable directory", path));
}

// Traits and options of a strategy with default options, for two ranks.
StrategySummary summary_of(CapabilityProbe& probe, const PluginSummary& plugin, const std::string& python) {
  ProbeQuestion question;
  question.plugin_file = plugin.file;
  question.strategy.name = question.strategy.label = plugin.name;
  question.facts = {2, 1, 128, 469, 12, "sgd", 0.9, DeviceKind::cpu};
  // Backends run in a folder of their own.
  question.python = python.find('/') == std::string::npos ? python : std::filesystem::absolute(python).lexically_normal().string();
  return probe.ask({question}).front();
}

std::string traits_text(const Traits& traits) {
  return fmt::format("{}, {}{}", traits.promise == Traits::Promise::exact ? "exact" : "approximate",
                     traits.pace == Traits::Pace::lockstep ? "lockstep" : "free pace",
                     traits.models == Traits::Models::many ? ", many models" : "");
}

void print_strategy(CapabilityProbe& probe, const PluginSummary& plugin, const std::string& python) {
  fmt::print("{:<16} {}\n", plugin.name, plugin.description);
  const StrategySummary summary = summary_of(probe, plugin, python);
  if (!summary.crash.empty()) {
    fmt::print("{:<16} cannot be probed: {}, in {}\n\n", "", summary.crash, plain(plugin.file));
    return;
  }
  if (const std::string& reason = summary.backend.unavailable; !reason.empty()) {
    fmt::print("{:<16} cannot run here: {}; {}\n\n", "", reason, plain(plugin.file));
    return;
  }
  for (const auto& [name, version] : summary.backend.versions) fmt::print("{:<16} {} {}\n", "", name, version);
  for (const OptionProblem& problem : summary.problems) {
    if (problem.key.empty() && !problem.warning) fmt::print("{:<16} {}\n", "", problem.text);
  }
  fmt::print("{:<16} {}; {}\n", "", traits_text(summary.traits), plain(plugin.file));
  for (const OptionSummary& option : summary.options) {
    fmt::print("{:<16}   {}: {}  ({}{}) {}\n", "", option.key, option.value, option.type,
               option.range.empty() ? "" : ", " + option.range, option.help);
  }
  fmt::print("\n");
}

// What devices the strategy runs on, and for which GPUs its file has code.
std::string devices_text(const StrategySummary& summary, const std::vector<GpuCode>& code) {
  std::vector<std::string_view> kinds;
  for (const DeviceKind kind : summary.traits.devices) kinds.push_back(to_string(kind));
  const std::string devices = fmt::format("devices {}; ", fmt::join(kinds, ", "));
  if (code.empty()) {
    const bool on_gpus = std::count(summary.traits.devices.begin(), summary.traits.devices.end(), DeviceKind::cuda) > 0;
    return devices + "no code of its own for GPUs" +
           (on_gpus ? "; a strategy with kernels of its own, or with arithmetic.h, needs CUDA in mgcompare_add_strategy() to run there" : "");
  }
  std::vector<std::string> texts;
  for (const GpuCode& one : code) texts.push_back(one.text());
  return fmt::format("{}its own code for GPUs: {}", devices, fmt::join(texts, ", "));
}

// One sentence for each kind of GPU of this machine for which the plugin has code for others only.
std::set<std::string> missing_code(const std::vector<PlatformSummary>& platforms, const std::vector<GpuCode>& code) {
  std::set<std::string> sentences;
  if (code.empty()) return sentences;
  for (const PlatformSummary& platform : platforms) {
    for (const DeviceSummary& device : platform.devices) {
      const std::optional<int> generation = generation_of(device);
      if (!generation || std::any_of(code.begin(), code.end(), [&](const GpuCode& one) { return one.runs_on(*generation); })) continue;
      sentences.insert(fmt::format("it has no code for the {} of this machine (compute capability {}.{}); build it again with "
                                   "-DCMAKE_CUDA_ARCHITECTURES={}", plain(device.name), *generation / 10, *generation % 10, *generation));
    }
  }
  return sentences;
}

// The file to check: of a backend, which is named by its folder or its program, the manifest; of a folder with one strategy, such as its
// build, that strategy. Throws Error for what is no plugin.
std::string file_to_check(const std::string& target) {
  namespace fs = std::filesystem;
  const fs::path path = target;
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored), is_python = path.extension() == ".py";
  if (!is_folder && !is_python) return target;
  const fs::path manifest = (is_folder ? path : path.parent_path()) / kManifestName;
  if (fs::is_regular_file(manifest, ignored)) return manifest.string();
  if (is_python)
    throw Error(fmt::format("{} has no {} beside it, so it is no backend: write one as docs/writing-a-backend.md shows", plain(target), kManifestName));
  std::vector<std::string> strategies;
  std::error_code problem;
  for (fs::directory_iterator entry(path, problem), end; !problem && entry != end; entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with("strategy_") && name.ends_with(".so") && entry->is_regular_file(ignored)) strategies.push_back(entry->path().string());
  }
  if (problem) throw Error(fmt::format("{} cannot be read: {}", plain(target), error_text(problem.value())));
  if (strategies.size() == 1) return strategies.front();
  throw Error(fmt::format("{} is a folder without {} and with {} files strategy_*.so: name the .so file of a strategy, or the folder of a backend",
                          plain(target), kManifestName, strategies.size()));
}

// What a run would only show by rows or comparisons that are missing: names that do not exist, and a name that another plugin has.
std::vector<std::string> mistakes_of(const PluginSummary& backend, const BackendSummary& described, const std::vector<PluginSummary>& plugins) {
  std::vector<std::string> mistakes;
  const auto expect_known = [&](const std::string& key, const std::vector<std::string>& given, const char* what, const std::vector<std::string>& known) {
    for (const std::string& name : given) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      const std::string hint = did_you_mean(name, known);
      mistakes.push_back(fmt::format("`{}` has '{}', which is no {}; {}", key, name, what, hint.empty() ? "there are " + listed(known) : hint));
    }
  };
  const auto names_of = [](const auto& names) { return std::vector<std::string>(names.begin(), names.end()); };
  expect_known("device_kinds", described.device_kinds, "kind of device of mgcompare", {"cpu", "cuda"});
  expect_known("layers", described.layers, "layer of mgcompare", names_of(kKindNames<LayerType>));
  expect_known("optimizers", described.optimizers, "optimiser of mgcompare", names_of(kKindNames<OptimizerKind>));
  for (const auto& [kind, precisions] : described.precisions) {
    expect_known("precisions", {kind}, "kind of device of mgcompare", {"cpu", "cuda"});
    expect_known("precisions", precisions, "precision of mgcompare", names_of(kKindNames<Precision>));
  }
  std::vector<std::string> strategies;
  for (const PluginSummary& plugin : plugins)
    if (!is_backend(plugin.file)) strategies.push_back(plugin.name);
  for (const std::string& like : {described.like_one, described.like_several})
    if (!like.empty()) expect_known("like", {like}, "strategy that is found here", strategies);
  if (described.layers.empty()) mistakes.push_back("`layers` is empty, so it can train no network");
  std::error_code ignored;
  for (const PluginSummary& other : plugins)
    if (other.name == backend.name && other.problem.empty() && !std::filesystem::equivalent(other.file, backend.file, ignored))
      mistakes.push_back(fmt::format("a run would take {}, which has the same name '{}': choose another name", plain(other.file), backend.name));
  return mistakes;
}

}  // namespace

int list_plugins(const Command& command) {
  warn_of_plugin_folders();
  ProbeClient probe(supervisor_settings());
  std::vector<std::string> refused;
  for (const PluginSummary& plugin : probe.plugins()) {
    if (plugin.problem.empty()) {
      print_strategy(probe, plugin, command.python);
    } else {
      refused.push_back(plugin.problem);
    }
  }
  for (const std::string& problem : refused) fmt::print("refused: {}\n", problem);
  fmt::print("searched: {}\n", plain(fmt::format("{}", fmt::join(plugin_folders({}), ", "))));
  return kDone;
}

int check_plugin(const Command& command) {
  std::string target;
  try {
    target = file_to_check(command.target);
  } catch (const Error& error) {
    fmt::print("{}\n", error.what());
    return kProblemFound;
  }
  const PluginSummary plugin = inspect_plugin(target);
  const std::string file = plain(target);
  if (!plugin.problem.empty()) {
    fmt::print("{}\n", plugin.problem);
    return kProblemFound;
  }
  ProbeClient probe(supervisor_settings());
  const StrategySummary summary = summary_of(probe, plugin, command.python);
  if (!summary.crash.empty()) {
    fmt::print("{}: its constructor crashes: {}\n", file, summary.crash);
    return kProblemFound;
  }
  if (!summary.backend.unavailable.empty()) {
    fmt::print("{}: cannot run here: {}\n", file, summary.backend.unavailable);
    return kProblemFound;
  }
  bool is_fine = true;
  for (const OptionProblem& problem : summary.problems) {
    is_fine &= problem.warning;
    // A problem of the whole plugin is a sentence about its file.
    if (problem.of_plugin) fmt::print("{}\n", problem.text);
    else fmt::print("{}: {}{}\n", file, problem.key.empty() ? "" : problem.key + ": ", problem.text);
  }
  if (is_backend(plugin.file)) {
    const std::vector<std::string> mistakes = mistakes_of(plugin, summary.backend, probe.plugins());
    for (const std::string& mistake : mistakes) fmt::print("{}: {}\n", file, mistake);
    is_fine &= mistakes.empty();
  }
  if (is_fine) fmt::print("{}: fine, {} '{}' ({})\n", file, is_backend(plugin.file) ? "backend" : "strategy", plugin.name, traits_text(summary.traits));
  if (is_fine && !is_backend(plugin.file)) {
    const std::vector<GpuCode> code = gpu_code(read_plugin_bytes(plugin.file));
    fmt::print("{}: {}\n", file, devices_text(summary, code));
    for (const std::string& sentence : missing_code(probe.platforms(), code)) fmt::print("{}: {}\n", file, sentence);
  }
  return is_fine ? kDone : kProblemFound;
}

int new_plugin(const Command& command) {
  const std::string& name = command.target;
  if (name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos ||
      name[0] < 'a' || name[0] > 'z') {
    throw UsageError(fmt::format("'{}' is not a valid strategy name: use lower-case letters, digits and _, beginning with a letter", name));
  }
  for (const PluginSummary& plugin : find_plugins({}))
    if (plugin.name == name && plugin.problem.empty())
      throw UsageError(fmt::format("the name '{}' is taken by {}; choose another name", name, plugin.file));
  if (std::filesystem::exists(name)) throw UsageError(fmt::format("{} exists already; choose another name", name));
  std::error_code ignored;          // if this fails, writing the files throws
  std::filesystem::create_directories(name, ignored);
  const Skeleton& skeleton = command.cuda ? kCudaSkeleton : kSkeleton;
  write_file(name + "/" + name + ".cc", fmt::format(fmt::runtime(skeleton.source), name, class_name(name)));
  write_file(name + "/CMakeLists.txt", fmt::format(fmt::runtime(skeleton.build), name));
  fmt::print("{0}/{0}.cc\n{0}/CMakeLists.txt\n", name);
  print_stderr("build it with: cmake -S {0} -B {0}/build -DCMAKE_PREFIX_PATH={1} && cmake --build {0}/build\n"
               "check it with: mgcompare plugins check {0}/build\n"
               "try it with: MGCOMPARE_PLUGIN_PATH={0}/build mgcompare verify --quick lenet --set 'strategies=[{0}]'\n"
               "docs/writing-a-strategy.md goes on from there{2}\n", name, prefix_folder(),
               command.cuda ? "" : "; with --cuda, the source has arithmetic for CPUs and GPUs");
  return kDone;
}

int explain_config(const Command& command) {
  try {
    fmt::print("{}", command.schema     ? json_schema()
                     : command.markdown ? markdown_keys()
                                        : explain_keys(command.target));
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  return kDone;
}

}  // namespace mgcompare
