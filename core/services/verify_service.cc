#include "services/verify_service.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <set>

#include <fmt/core.h>

#include "base/clock.h"
#include "base/error_text.h"
#include "base/shortage.h"
#include "base/temporary_folder.h"
#include "check/drawn_samples.h"
#include "check/verify.h"
#include "check/verify_backend.h"
#include "check/verify_size.h"
#include "data/load.h"
#include "discovery/manifest.h"
#include "discovery/private_libraries.h"
#include "mgcompare/error.h"
#include "modules/platform_host.h"
#include "modules/plugin_host.h"
#include "process/memory_limit.h"
#include "services/data_service.h"

namespace mgcompare {
namespace {

// A new worker loads the data first, and may download it.
constexpr double kPrepareSeconds = 600;
constexpr std::size_t kTestSamples = 20;

VerifyScope scope_from_json(const nlohmann::json& setting) {
  VerifyScope scope = setting.at("quick").get<bool>() ? quick_scope() : VerifyScope();
  scope.seed = setting.at("seed").get<std::uint64_t>();
  add_optimizer(scope, setting.at("config").get<Config>().optimizer);
  scope.device_kind = device_kind(setting.at("device_kind").get<std::string>());
  add_ranks(scope, setting.at("config").get<Config>(), platform(scope.device_kind).devices().size(), setting.at("quick").get<bool>());
  for (const nlohmann::json& plugin : setting.at("plugins"))
    scope.plugins.push_back({plugin.at("name").get<std::string>(), "", plugin.at("file").get<std::string>(), ""});
  return scope;
}

// All training samples and a few test samples of the data.
Dataset load_data(DataConfig data, std::size_t least, const DataPlaces& places, const DataLog& log) {
  data.train_samples = data.test_samples = 0;
  Dataset set = load_dataset(data, places, log);
  if (!set.remark.empty()) log(fmt::format("warning: {}", set.remark));
  if (set.train.samples < least)
    throw Error(fmt::format("verify trains on {} samples, and {} has {}: verify with more, such as `--set data.set=digits`", least,
                            set.name, set.train.samples));
  set.test = part_of(set.test, 0, std::min(kTestSamples, set.test.samples));
  return set;
}

// One size of trainings, with the samples that it needs.
struct SizedVerification {
  SizedVerification(VerifySize size, const Config& config, const Dataset& all, const std::string& folder)
      : size(std::move(size)), dataset(with_drawn_samples(all, this->size.scope.samples, this->size.scope.seed)),
        verification(config, dataset, platform(this->size.scope.device_kind), this->size.scope, folder) {}

  const VerifySize size;
  const Dataset dataset;
  Verification verification;
};

// What a worker keeps between the requests of one verification: data, devices and reference weights.
class OpenVerification {
 public:
  OpenVerification(const nlohmann::json& setting, RequestContext& context)
      : setting_(setting), config_(setting.at("config").get<Config>()), scope_(scope_from_json(setting)),
        all_(load_data(config_.data, scope_.samples, reporting_places(setting.at("data_folder").get<std::string>(), context),
                       reporting_log(context))),
        dataset_(with_drawn_samples(all_, scope_.samples, scope_.seed)),
        verification_(config_, dataset_, platform(scope_.device_kind), scope_, setting.at("folder").get<std::string>()) {
    if (setting.contains("other_config"))
      other_.emplace(setting.at("other_config").get<Config>(), dataset_, platform(scope_.device_kind), scope_, setting.at("folder").get<std::string>());
    for (VerifySize& size : sizes_of(scope_, config_, all_.train.samples, setting.at("quick").get<bool>()))
      sized_.push_back(std::make_unique<SizedVerification>(std::move(size), config_, all_, setting.at("folder").get<std::string>()));
  }

  bool fits(const nlohmann::json& setting) const { return setting == setting_; }
  const Config& config() const { return config_; }
  bool on_cpus() const { return scope_.device_kind == DeviceKind::cpu; }
  Verification& verification() { return verification_; }
  void listen(const VerifyListener& listener) {
    verification_.listen(listener);
    for (const auto& sized : sized_) sized->verification.listen(listener);
    if (other_) other_->listen(listener);
  }
  // The checks report what keeps it from being opened.
  void open_plugin_of(const StrategyConfig& strategy) const {
    for (const PluginSummary& plugin : scope_.plugins) {
      if (plugin.name != strategy.name) continue;
      try {
        open_plugin(plugin.file);
      } catch (const std::exception&) {
      }
    }
  }
  // All checks of a row of a strategy that one process can make.
  void check(const StrategyConfig& strategy) {
    verification_.check(strategy);
    for (const auto& sized : sized_) sized->verification.check_size(strategy, sized->size);
    verification_.keep(strategy);
    // Last: ranks that rely on the memory of one host may crash.
    verification_.check_hosts(strategy);
  }
  // Of a row that another process has checked.
  void check_kept(const StrategyConfig& strategy) {
    (other_ ? *other_ : verification_).train_before(strategy);
    verification_.check_kept(strategy);
  }
  // All checks of a row of a backend; false if it is none.
  bool check_backend(const StrategyConfig& strategy, const VerifyListener& listener, const std::function<bool()>& stop) {
    const auto plugin = std::find_if(scope_.plugins.begin(), scope_.plugins.end(), [&](const PluginSummary& one) { return one.name == strategy.name; });
    if (plugin == scope_.plugins.end() || !is_backend(plugin->file)) return false;
    verify_backend({config_, all_, platform(scope_.device_kind), scope_, strategy, plugin->file, setting_.at("folder").get<std::string>(),
                    setting_.at("quick").get<bool>(), stop}, listener);
    return true;
  }

 private:
  nlohmann::json setting_;
  Config config_;
  VerifyScope scope_;
  Dataset all_, dataset_;
  Verification verification_;
  std::optional<Verification> other_;  // of another network of the experiment, if there is one
  std::vector<std::unique_ptr<SizedVerification>> sized_;
};

// `row` is the number of a row; without one, the planted strategy is checked. With `kept`, the row was checked by another worker.
nlohmann::json answer_verify(std::unique_ptr<OpenVerification>& open, const nlohmann::json& body, RequestContext& context) {
  const nlohmann::json& setting = body.at("setting");
  if (open == nullptr || !open->fits(setting)) open = std::make_unique<OpenVerification>(setting, context);
  VerifyListener listener;
  listener.found = [&](const VerifyFinding& finding) { context.note({{"finding", finding}}); };
  listener.training = [&](const std::string& optimizer, int ranks) {
    context.note({{"optimizer", optimizer}, {"ranks", ranks}});
  };
  listener.progress = [&](const Progress& progress) { context.report(progress); };
  listener.position = &context.position();
  // Ranks may be blocked after one has failed, and a GPU may be unusable.
  listener.leave = [&] { context.leave(false); };
  open->listen(listener);
  context.note({{"ready", true}});  // the data are loaded: from here on the limits of time and memory apply
  std::optional<MemoryLimit> limit;
  if (open->on_cpus()) limit.emplace(open->config().measure.memory_limit);
  if (!body.contains("row")) {
    open->verification().check_planted();
    return true;
  }
  const StrategyConfig& strategy = open->config().strategies.at(body.at("row").get<std::size_t>());
  if (open->check_backend(strategy, listener, [&] { return context.stopping(); })) return true;
  open->open_plugin_of(strategy);
  context.note({{"opened", true}});
  if (body.at("kept").get<bool>()) open->check_kept(strategy);
  else open->check(strategy);
  return true;
}

}  // namespace

std::string device_kind_to_verify(CapabilityProbe& probe, const ScalingConfig& scaling) {
  const std::string cpu(to_string(DeviceKind::cpu));
  const auto lists = [&](const std::string& kind) {
    return scaling.automatic || std::any_of(scaling.devices.begin(), scaling.devices.end(),
                                            [&](const DevicesConfig& devices) { return devices.kind == kind || devices.kind == "auto"; });
  };
  for (const PlatformSummary& platform : probe.platforms())
    if (platform.kind != cpu && !platform.devices.empty() && lists(platform.kind)) return platform.kind;
  if (!lists(cpu))
    throw Error("scaling.devices lists GPUs only, and there is none here to verify on (`mgcompare devices` says why): verify on a machine with GPUs, or on CPUs "
                "with --set scaling.devices=2");
  return cpu;
}

namespace {

// The runner's side.
class VerifyRun {
 public:
  VerifyRun(const VerifyRequest& request, const std::string& device_kind, const std::vector<PluginSummary>& plugins,
            SupervisorSettings settings, const VerifyListeners& listeners)
      : request_(request), listeners_(listeners), supervisor_(std::move(settings)) {
    nlohmann::json usable = nlohmann::json::array();
    for (const PluginSummary& plugin : plugins)
      if (plugin.problem.empty()) usable.push_back({{"name", plugin.name}, {"file", plugin.file}});
    setting_ = {{"config", request.config},     {"data_folder", request.data_folder}, {"plugins", usable},
                {"device_kind", device_kind},   {"quick", request.quick},             {"seed", request.seed},
                {"folder", folder_.path()}};
    if (request.other_config) setting_["other_config"] = *request.other_config;
  }

  void check_planted() {
    const Reply reply = ask({{"setting", setting_}});
    reply.require("verify cannot begin", "run the command again");
  }

  void check_rows() {
    std::vector<std::size_t> passed;
    const std::size_t rows = request_.config.strategies.size();
    VerifyPace& pace = request_.history->pace;
    std::size_t strategies = 0;
    for (std::size_t row = 0; row < rows; ++row) strategies += is_backend_row(row) ? 0 : 1;
    pace.begin(rows, strategies, request_.later_rows);
    for (std::size_t row = 0; row < rows; ++row) {
      listeners_.row_begins(request_.config.strategies[row].label, row, rows, false, pace.seconds_left());
      const double start = now();
      const bool has_passed = check(row, false);
      pace.checked(now() - start, has_passed || is_backend_row(row));
      if (has_passed && !is_backend_row(row)) passed.push_back(row);
    }
    supervisor_.end_worker();
    // Backwards: what an earlier row leaves in the process shows.
    std::reverse(passed.begin(), passed.end());
    for (std::size_t i = 0; i < passed.size(); ++i) {
      listeners_.row_begins(request_.config.strategies[passed[i]].label, i, passed.size(), true, pace.seconds_left());
      const double start = now();
      check(passed[i], true);
      pace.checked_again(now() - start);
    }
  }

  std::vector<VerifyFinding> findings;

 private:
  std::string file_of(std::size_t row) const {
    for (const nlohmann::json& plugin : setting_.at("plugins"))
      if (plugin.at("name") == request_.config.strategies[row].name) return plugin.at("file").get<std::string>();
    return "";
  }

  // Another process trains it anyway.
  bool is_backend_row(std::size_t row) const { return is_backend(file_of(row)); }

  // Whether two of the plugins cannot be opened in one process (private_libraries.h). Then each row gets a new worker.
  bool may_confuse_libraries() {
    if (confuses_) return *confuses_;
    std::vector<std::set<std::string>> libraries;
    for (const nlohmann::json& plugin : setting_.at("plugins")) libraries.push_back(private_libraries(plugin.at("file").get<std::string>()));
    confuses_ = false;
    for (const auto& some : libraries)
      for (const auto& others : libraries) confuses_ = *confuses_ || are_confused(some, others);
    return *confuses_;
  }

  // Whether all checks of the row have passed. `kept`: those of what another process trained.
  bool check(std::size_t row, bool kept) {
    const std::string& label = request_.config.strategies[row].label;
    optimizer_.clear();
    ranks_ = 0;
    const std::size_t before = findings.size();
    if (may_confuse_libraries()) supervisor_.end_worker();
    is_ready_ = is_open_ = false;
    const auto unopened = request_.history->unopened.find(file_of(row));
    // It would take as long again.
    const Reply reply = unopened != request_.history->unopened.end() ? unopened->second : ask({{"setting", setting_}, {"row", row}, {"kept", kept}});
    // A plugin that fails may have left anything behind: the next one gets a new worker.
    const bool has_failed = std::any_of(findings.begin() + static_cast<std::ptrdiff_t>(before), findings.end(),
                                        [](const VerifyFinding& finding) { return finding.verdict == VerifyFinding::Verdict::failed; });
    if (reply.status == TrialStatus::interrupted) throw Error("verify was stopped; the remaining checks and strategies were not made");
    if (!reply.answered() && is_of_folder(reply.failure())) unwritable_ = reply.failure();
    if (!unwritable_.empty())
      throw Error(fmt::format("verify was stopped, because it cannot keep its checkpoints: {}; free space there, or set TMPDIR to another folder",
                              unwritable_));
    if (reply.status == TrialStatus::timeout && is_ready_ && !is_open_ && !is_backend_row(row)) request_.history->unopened.emplace(file_of(row), reply);
    if (!reply.answered()) add({VerifyFinding::Verdict::failed, label, "runs", optimizer_, ranks_, reply.failure()});
    const bool is_complete = reply.answered() && reply.body.get<bool>();
    if (has_failed || !is_complete) supervisor_.end_worker();
    if (!is_complete) add({VerifyFinding::Verdict::skipped, label, "remaining checks", "", 0, "fix the plugin, and verify again"});
    return is_complete && !has_failed;
  }

  Reply ask(const nlohmann::json& body) {
    const auto on_note = [this](const nlohmann::json& note) {
      // Each new worker loads the data, and says so.
      if (note.contains("text") && said_.insert(note["text"].get<std::string>()).second) listeners_.says(note["text"].get<std::string>());
      if (note.contains("finding")) {
        const auto finding = note["finding"].get<VerifyFinding>();
        if (finding.verdict == VerifyFinding::Verdict::failed && is_of_folder(finding.figure)) unwritable_ = finding.figure;
        else add(finding);
      }
      if (note.contains("ready")) is_ready_ = true;
      if (note.contains("opened")) is_open_ = true;
      if (note.contains("optimizer")) {
        optimizer_ = note["optimizer"].get<std::string>();
        ranks_ = note.at("ranks").get<int>();
      }
    };
    return supervisor_.ask("verify", body, request_.config.measure.time_limit, {{}, on_note}, request_.config.measure.progress_limit);
  }

  // Whether something failed because the folder for checkpoints cannot be written, which is not the plugin's fault, unless it lowered the
  // limit on the size of files: the limit in the text is then not that of this process.
  bool is_of_folder(const std::string& cause) const {
    const bool is_limit_of_worker = cause.find(std::strerror(EFBIG)) != std::string::npos && cause.find(error_text(EFBIG)) == std::string::npos;
    return cause.find(folder_.path()) != std::string::npos && is_unwritable_disk(cause) && !is_limit_of_worker;
  }

  void add(VerifyFinding finding) {
    listeners_.found(finding);
    findings.push_back(std::move(finding));
  }

  const VerifyRequest& request_;
  const VerifyListeners& listeners_;
  TemporaryFolder folder_;
  Supervisor supervisor_;
  nlohmann::json setting_;
  std::string optimizer_;           // of the training that began last
  int ranks_ = 0;
  std::set<std::string> said_;
  std::optional<bool> confuses_;
  bool is_ready_ = false, is_open_ = false;  // the worker of the row's request: has the data, has opened the plugin
  std::string unwritable_;          // why the folder cannot be written; empty: it can
};

}  // namespace

std::vector<VerifyFinding> verify_in_workers(const VerifyRequest& request, CapabilityProbe& probe, SupervisorSettings settings,
                                       const VerifyListeners& listeners) {
  const std::string kind = device_kind_to_verify(probe, request.config.scaling);
  listeners.begins(kind);
  settings.seconds_to_prepare = kPrepareSeconds;
  VerifyRun run(request, kind, probe.plugins(), std::move(settings), listeners);
  run.check_planted();
  run.check_rows();
  return std::move(run.findings);
}

Handlers verify_handlers() {
  const auto open = std::make_shared<std::unique_ptr<OpenVerification>>();
  return {{"verify", [open](const nlohmann::json& body, RequestContext& context) { return answer_verify(*open, body, context); }}};
}

}  // namespace mgcompare
