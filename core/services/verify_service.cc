#include "services/verify_service.h"
#include "base/print.h"
#include "base/text.h"

#include <cstdio>
#include <map>
#include <string>

#include <fmt/core.h>

#include "data/load.h"
#include "process/message.h"
#include "services/data_service.h"
#include "mgcompare/error.h"
#include "modules/platform_host.h"
#include "check/verify.h"

namespace mgcompare {
namespace {

constexpr double kVerifySeconds = 3600;
constexpr double kFindingSeconds = 600;    // for one check on a slow machine

const char* verdict_text(Finding::Verdict verdict) {
  switch (verdict) {
    case Finding::Verdict::passed: return "ok";
    case Finding::Verdict::failed: return "FAILED";
    case Finding::Verdict::printed: return "info";
    case Finding::Verdict::skipped: return "skipped";
  }
  return "";
}

nlohmann::json finding_to_json(const Finding& finding) {
  return {{"verdict", verdict_text(finding.verdict)}, {"strategy", finding.strategy}, {"check", finding.check},
          {"optimizer", finding.optimizer},           {"ranks", finding.ranks},       {"figure", finding.figure}};
}

void print_finding(const nlohmann::json& finding) {
  fmt::print("{:<8} {:<16} {:<9} {} ranks  {}: {}\n", finding.at("verdict").get<std::string>(),
             finding.at("strategy").get<std::string>(), finding.at("optimizer").get<std::string>(),
             finding.at("ranks").get<int>(), finding.at("check").get<std::string>(),
             plain(finding.at("figure").get<std::string>()));
  std::fflush(stdout);
}

nlohmann::json answer_verify(const nlohmann::json& body, RequestContext& context) {
  const Config config = body.at("config").get<Config>();
  VerifyScope scope = body.at("quick").get<bool>() ? quick_scope() : VerifyScope();
  for (const nlohmann::json& plugin : body.at("plugins")) {
    scope.plugins.push_back({plugin.at("name").get<std::string>(), "", plugin.at("file").get<std::string>(), ""});
  }
  scope.device_kind = device_kind(body.at("device_kind").get<std::string>());
  // After a failed rank a GPU may be unusable for later checks. CPUs are not affected.
  if (scope.device_kind != DeviceKind::cpu)
    scope.leave = [&] {
      context.note({{"text", "Remaining checks were skipped; fix or remove the plugin, and verify again"}});
      context.leave(false);
    };
  const DataPlaces places = reporting_places(body.at("data_folder").get<std::string>(), context);
  const Dataset dataset = load_dataset(verify_data(config.data, scope.samples), places, reporting_log(context));
  return verify(config, dataset, platform(scope.device_kind), scope,
                [&](const Finding& finding) { context.note({{"finding", finding_to_json(finding)}}); });
}

}  // namespace

bool verify_in_worker(const VerifyRequest& request, CapabilityProbe& probe, SupervisorSettings settings) {
  nlohmann::json plugins = nlohmann::json::array();
  for (const PluginSummary& plugin : probe.plugins()) {
    if (plugin.problem.empty()) plugins.push_back({{"name", plugin.name}, {"file", plugin.file}});
  }
  // On GPUs if there are any, as in training.
  std::string kind(to_string(DeviceKind::cpu));
  for (const PlatformSummary& platform : probe.platforms())
    if (!platform.devices.empty()) kind = platform.kind;
  fmt::print("on {} devices\n", kind);
  settings.seconds_without_progress = kFindingSeconds;
  Supervisor supervisor(std::move(settings));
  std::map<std::string, int> counts;
  std::vector<nlohmann::json> failed;
  const auto on_note = [&](const nlohmann::json& note) {
    if (note.contains("text")) print_stderr("{}\n", plain(note["text"].get<std::string>()));
    if (!note.contains("finding")) return;
    print_finding(note["finding"]);
    const auto verdict = note["finding"]["verdict"].get<std::string>();
    ++counts[verdict];
    if (verdict == verdict_text(Finding::Verdict::failed)) failed.push_back(note["finding"]);
  };
  const nlohmann::json body = {{"config", request.config},
                               {"data_folder", request.data_folder},
                               {"plugins", plugins},
                               {"device_kind", kind},
                               {"quick", request.quick}};
  const Reply reply = supervisor.ask("verify", body, kVerifySeconds, {{}, on_note});
  if (!reply.answered()) {
    throw Error(fmt::format("verify stopped early: {}", reply.failure()));
  }
  // Repeat the failed checks at the end: there may be a thousand lines.
  if (!failed.empty()) fmt::print("\nfailed checks:\n");
  for (const nlohmann::json& finding : failed) print_finding(finding);
  fmt::print("{} checks passed, {} failed, {} printed without a verdict, {} skipped\n", counts["ok"], counts["FAILED"],
             counts["info"], counts["skipped"]);
  return reply.body.get<bool>();
}

Handlers verify_handlers() { return {{"verify", answer_verify}}; }

}  // namespace mgcompare
