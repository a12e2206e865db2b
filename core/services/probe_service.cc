#include "services/probe_service.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "config/sample_spec_json.h"
#include "base/shortage.h"
#include "backends/backend_probe.h"
#include "base/text.h"
#include "data/load.h"
#include "process/memory_limit.h"
#include "mgcompare/error.h"
#include "modules/platform_host.h"
#include "discovery/manifest.h"
#include "discovery/platform_json.h"
#include "discovery/plugin_files.h"
#include "modules/strategy_probe.h"
#include "services/data_remarks.h"

namespace mgcompare {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OptionSummary, key, type, value, range, help)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OptionProblem, key, text, warning, of_plugin)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Traits, promise, in_rank_order, pace, models, role, devices, least_ranks, most_ranks,
                                   one_host, repeats_every, stages)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BackendSummary, unavailable, versions, device_kinds, layers, optimizers, precisions, differs, like_one, like_several)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StrategySummary, traits, options, problems, crash, backend)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Facts, ranks, hosts, global_batch, steps_per_epoch, epochs, optimizer, momentum,
                                   device, ordered)

namespace {

constexpr double kSamplesSeconds = 600;       // large files are scanned
constexpr double kDevicesSeconds = 60;     // starting a driver takes long
constexpr double kStrategySeconds = 10;
constexpr double kBackendSeconds = kDescribeSeconds + 15;  // an interpreter that ends has children to end
// A shortage of descriptors or processes may pass.
constexpr int kSurveyAttempts = 3;
constexpr std::chrono::milliseconds kSurveyPause{200};
constexpr double kSilenceSeconds = 10;     // a probe reports no progress, only heartbeats
// Of one plugin and the objects that it makes. Their constructors allocate nothing large (strategy.h).
constexpr double kStrategyGibibytes = 2;

SupervisorSettings settings_of_probe(SupervisorSettings settings) {
  settings.seconds_without_progress = std::max(kDevicesSeconds, kBackendSeconds);
  settings.seconds_without_heartbeat = kSilenceSeconds;
  return settings;
}

nlohmann::json question_to_json(const ProbeQuestion& question) {
  nlohmann::json options = nlohmann::json::array();
  for (const OptionConfig& option : question.strategy.options) {
    options.push_back({{"key", option.key},
                       {"value", option.value},
                       {"quoted", option.quoted},
                       {"file", option.place.file},
                       {"line", option.place.line},
                       {"column", option.place.column}});
  }
  return {{"plugin_file", question.plugin_file},
          {"name", question.strategy.name},
          {"label", question.strategy.label},
          {"options", options},
          {"facts", question.facts},
          {"python", question.python}};
}

ProbeQuestion question_from_json(const nlohmann::json& json) {
  ProbeQuestion question;
  question.plugin_file = json.at("plugin_file").get<std::string>();
  question.strategy.name = json.at("name").get<std::string>();
  question.strategy.label = json.at("label").get<std::string>();
  for (const nlohmann::json& option : json.at("options")) {
    question.strategy.options.push_back(
        {option.at("key").get<std::string>(),
         option.at("value").get<std::string>(),
         option.at("quoted").get<bool>(),
         {option.at("file").get<std::string>(), option.at("line").get<int>(), option.at("column").get<int>()}});
  }
  if (json.contains("facts")) question.facts = json.at("facts").get<Facts>();
  question.python = json.at("python").get<std::string>();
  return question;
}

// Why a platform could not be listed for now; empty if there is no such platform.
std::string shortage_in(const std::vector<PlatformSummary>& platforms) {
  for (const PlatformSummary& platform : platforms)
    if (is_passing_shortage(platform.problem)) return plain(platform.problem);
  return "";
}

// Makes the texts of a plugin safe to print.
void clean(StrategySummary& answer) {
  for (OptionSummary& option : answer.options)
    for (std::string* text : {&option.key, &option.type, &option.value, &option.range, &option.help}) *text = plain(*text);
  for (OptionProblem& problem : answer.problems) {
    problem.key = plain(problem.key);
    problem.text = plain(problem.text);
  }
  answer.backend.unavailable = plain(answer.backend.unavailable);
}

StrategySummary summary_of(Reply reply) {
  reply.throw_if_interrupted();
  StrategySummary answer;
  if (reply.status == TrialStatus::out_of_memory)
    reply.cause += fmt::format("; a plugin may use {:g} GiB while it is asked for its options", kStrategyGibibytes);
  if (reply.answered()) {
    try {
      answer = reply.body.get<StrategySummary>();
    } catch (const std::exception&) {
      answer.crash = "its answer cannot be read";
    }
  } else if (reply.status == TrialStatus::failed) {
    answer.problems.push_back({"", reply.cause});
  } else {
    answer.crash = reply.failure();
  }
  clean(answer);
  return answer;
}

}  // namespace

ProbeClient::ProbeClient(SupervisorSettings settings, std::string data_folder)
    : supervisor_(settings_of_probe(std::move(settings))), data_folder_(std::move(data_folder)) {}

void ProbeClient::search(std::vector<std::string> extra_plugin_paths) {
  extra_plugin_paths_ = std::move(extra_plugin_paths);
  plugins_.reset();
}

std::vector<PlatformSummary> ProbeClient::platforms() {
  if (!platforms_) {
    std::vector<PlatformSummary> found = list_platforms();
    for (int attempt = 1; attempt < kSurveyAttempts && !shortage_in(found).empty(); ++attempt) {
      supervisor_.end_worker();
      std::this_thread::sleep_for(kSurveyPause);
      found = list_platforms();
    }
    // Otherwise the trials would be recorded as lacking devices.
    if (const std::string shortage = shortage_in(found); !shortage.empty())
      throw Error(fmt::format("the devices of this machine cannot be listed: {}; end other programs and run the command "
                              "again", shortage));
    platforms_ = std::make_unique<std::vector<PlatformSummary>>(std::move(found));
  }
  return *platforms_;
}

std::vector<PlatformSummary> ProbeClient::list_platforms() {
  return supervisor_.ask("platforms", nullptr, kDevicesSeconds)
      .require("the devices of this machine cannot be listed",
               "run the command again; if this repeats, a limit on processes or memory is too low (`ulimit -a`), or a driver is broken: then remove its module "
               "from lib/mgcompare")
      .get<std::vector<PlatformSummary>>();
}

std::vector<PluginSummary> ProbeClient::plugins() {
  if (!plugins_) plugins_ = std::make_unique<std::vector<PluginSummary>>(find_plugins(extra_plugin_paths_));
  return *plugins_;
}

DataSummary ProbeClient::samples(const Config& config) {
  const Reply reply = supervisor_.ask("samples", {{"config", config}, {"data_folder", data_folder_}}, kSamplesSeconds, {}, kSamplesSeconds);
  const nlohmann::json& found = reply.require("the data cannot be read", "run the command again");
  data_remarks_ = found.at("remarks").get<std::vector<std::string>>();
  return found.at("summary").get<DataSummary>();
}

std::vector<StrategySummary> ProbeClient::ask(const std::vector<ProbeQuestion>& questions) {
  std::vector<StrategySummary> answers;
  for (const ProbeQuestion& question : questions) answers.push_back(is_backend(question.plugin_file) ? ask_backend(question) : ask_strategy(question));
  return answers;
}

StrategySummary ProbeClient::ask_strategy(const ProbeQuestion& question) {
  if (const auto known = unopened_.find(question.plugin_file); known != unopened_.end()) return known->second;
  bool is_open = false;
  const auto on_note = [&](const nlohmann::json&) { is_open = true; };
  const auto ask = [&] { return supervisor_.ask("strategy", question_to_json(question), kStrategySeconds, {{}, on_note}); };
  Reply reply = ask();
  // The worker was ended. What plugins before this one loaded there may be the reason.
  if (reply.status == TrialStatus::failed) reply = ask();
  const bool is_blocked = reply.status == TrialStatus::timeout && !is_open;
  StrategySummary summary = summary_of(std::move(reply));
  // It would take as long for each of its rows.
  if (is_blocked) unopened_.emplace(question.plugin_file, summary);
  return summary;
}

// It starts an interpreter, so it is asked once for all rows with equal options.
StrategySummary ProbeClient::ask_backend(const ProbeQuestion& question) {
  nlohmann::json body = question_to_json(question);
  body.erase("facts");
  const std::string key = body.dump();
  if (const auto known = backends_.find(key); known != backends_.end()) return known->second;
  if (!scratch_) scratch_ = std::make_unique<TemporaryFolder>();
  body["scratch"] = scratch_->path();
  Reply reply = supervisor_.ask("backend", body, kBackendSeconds);
  // The worker was ended, perhaps by another program.
  if (reply.status == TrialStatus::crashed) reply = supervisor_.ask("backend", body, kBackendSeconds);
  StrategySummary summary = summary_of(std::move(reply));
  // Whatever goes wrong there is no defect of the experiment.
  if (!summary.crash.empty()) summary.backend.unavailable = std::exchange(summary.crash, "");
  return backends_.emplace(key, std::move(summary)).first->second;
}

Handlers probe_handlers() {
  return {{"samples", [](const nlohmann::json& body, RequestContext&) -> nlohmann::json {
             const auto config = body.at("config").get<Config>();
             const DataSummary summary = describe_dataset(config.data, DataPlaces::standard(body.at("data_folder").get<std::string>()));
             return {{"summary", summary}, {"remarks", data_remarks(config, summary)}};
           }},
          {"platforms", [](const nlohmann::json&, RequestContext&) -> nlohmann::json { return find_platforms(); }},
          {"backend", [](const nlohmann::json& body, RequestContext& context) -> nlohmann::json {
             return probe_backend(question_from_json(body), body.at("scratch").get<std::string>(), [&] { return context.stopping(); });
           }},
          {"strategy", [](const nlohmann::json& body, RequestContext& context) -> nlohmann::json {
             const MemoryLimit limit(kStrategyGibibytes);
             return probe_strategy(question_from_json(body), [&] { context.note({{"opened", true}}); });
           }}};
}

}  // namespace mgcompare
