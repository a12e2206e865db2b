#include "cli/verify_command.h"

#include <algorithm>
#include <cstdio>
#include <random>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/print.h"
#include "base/text.h"
#include "cli/progress_display.h"
#include "config/problem.h"
#include "plan/strategy_rows.h"
#include "plan/version.h"
#include "services/verify_service.h"

namespace mgcompare {
namespace {

using Verdict = VerifyFinding::Verdict;

constexpr std::uint64_t kMostSeeds = 1000000;  // short numbers, which are easily repeated
constexpr std::size_t kMostNamed = 6;  // strategies of one reason
constexpr std::size_t kLeastWidth = 16;  // of the column of strategies

std::string ranks_text(int ranks) { return ranks == 0 ? "all" : ranks == 1 ? "1 rank" : fmt::format("{} ranks", ranks); }

// `width`: of the column of strategies.
void print_finding(const VerifyFinding& finding, std::size_t width) {
  fmt::print("{:<8} {:<{}} {:<9} {:<7}  {}: {}\n", to_string(finding.verdict), finding.strategy, width,
             finding.optimizer.empty() ? "all" : finding.optimizer, ranks_text(finding.ranks), finding.check,
             plain(finding.figure));
  std::fflush(stdout);
}

void print_summary(const FindingSummary& summary, bool stopped, std::size_t width) {
  const std::string closest =
      summary.limit == 0 ? "" : fmt::format("; closest to its limit: {:.1e} of {:.0e}", summary.value, summary.limit);
  fmt::print("{:<8} {:<{}} {} passed, {} failed, {} skipped{}\n", stopped ? "stopped" : to_string(summary.verdict()), summary.strategy, width,
             summary.passed, summary.failed, summary.skipped, closest);
}

std::string title_of(const Version& version) {
  const std::string variant = version.variant.empty() ? "without a variant" : "variant " + plain(version.variant);
  return version.network.empty()   ? variant
         : version.variant.empty() ? "network " + plain(version.network)
                                   : fmt::format("network {}, {}", plain(version.network), variant);
}

// Each reason once, with the rows that it concerns.
void print_reasons_of_skipping(const std::vector<VerifyFinding>& findings) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const VerifyFinding& finding : findings) {
    if (finding.verdict != Verdict::skipped) continue;
    const std::string reason = fmt::format("{}: {}", finding.check, plain(finding.figure));
    auto same = std::find_if(reasons.begin(), reasons.end(), [&](const auto& one) { return one.first == reason; });
    if (same == reasons.end()) same = reasons.insert(reasons.end(), {reason, {}});
    if (std::find(same->second.begin(), same->second.end(), finding.strategy) == same->second.end()) same->second.push_back(finding.strategy);
  }
  for (const auto& [reason, strategies] : reasons) fmt::print("{:<8} {} ({})\n", to_string(Verdict::skipped), reason, listed(strategies, kMostNamed));
}

// How the findings are printed.
struct Form {
  bool quiet;                       // the lines of the checks were not printed
  std::size_t width;
};

// `stopped_in`: the strategy whose checks are not complete.
void print_result(const std::vector<VerifyFinding>& findings, const Form& form, const std::optional<std::string>& stopped_in = {}) {
  // Repeat the failed checks at the end: there may be a thousand lines.
  std::string_view heading = "\nfailed checks:\n";
  for (const VerifyFinding& finding : findings) {
    if (finding.verdict != Verdict::failed) continue;
    fmt::print("{}", std::exchange(heading, ""));
    print_finding(finding, form.width);
  }
  fmt::print("\n");
  FindingSummary all;
  for (const FindingSummary& summary : summarized(findings)) {
    print_summary(summary, summary.strategy == stopped_in && summary.failed == 0, form.width);
    all.passed += summary.passed;
    all.failed += summary.failed;
    all.printed += summary.printed;
    all.skipped += summary.skipped;
  }
  if (form.quiet) print_reasons_of_skipping(findings);
  fmt::print("{}{} check{} passed, {} failed, {} printed without a verdict, {} skipped\n", stopped_in ? "stopped before the end: " : "", all.passed,
             all.passed == 1 ? "" : "s", all.failed, all.printed, all.skipped);
}

// The next version with another network.
std::optional<Config> other_network(const Version& of, const std::vector<Version>& all) {
  const auto is_other = [&](const Version& version) { return version.config.model.name != of.config.model.name; };
  const auto own = all.begin() + (&of - all.data());
  auto found = std::find_if(own, all.end(), is_other);
  if (found == all.end()) found = std::find_if(all.begin(), own, is_other);
  return found == own || found == all.end() ? std::nullopt : std::optional(found->config);
}

// What is verified: the networks and variants of the command, each with its rows.
std::vector<Version> chosen_versions(const Config& config, ProbeClient& probe, const Command& command) {
  probe.search(config.plugin_paths);
  throw_problems(plugin_problems(config.strategies, probe.plugins()));
  std::vector<Version> versions = versions_to_verify(config);
  try {
    const std::vector<ModelConfig> networks = only_networks(config, command.only);
    std::erase_if(versions, [&](const Version& version) {
      return std::none_of(networks.begin(), networks.end(), [&](const ModelConfig& model) { return model.name == version.config.model.name; });
    });
    for (Version& version : versions)
      version.config.strategies = only(rows_with_defaults(version.config, probe.plugins()), command.only);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  return versions;
}

// Prints what happens while strategies are verified, and what was found. With --json only what goes to stderr.
class VerifyOutput {
 public:
  VerifyOutput(const Command& command, std::uint64_t seed, const std::vector<Version>& versions) : command_(command), form_{command.quiet, kLeastWidth} {
    for (const Version& version : versions) {
      rows_ += version.config.strategies.size();
      for (const StrategyConfig& strategy : version.config.strategies) form_.width = std::max(form_.width, strategy.label.size());
    }
    listeners_.begins = [this, seed](const std::string& kind) {
      device_kind_ = kind;
      if (!command_.json) fmt::print("on {} devices, with seed {} (--seed {} repeats this)\n", kind, seed, seed);
    };
    listeners_.row_begins = [this](const std::string& label, std::size_t row, std::size_t rows, bool again, double seconds_left) {
      in_progress_ = label;
      if (command_.json || command_.quiet || rows_ < 2) return;
      const std::string left = seconds_left > 0 ? fmt::format(", about {} left", duration_text(seconds_left)) : "";
      print_stderr("{}: strategy {} of {}{}{}\n", plain(label), row + 1, rows, again ? ", in another process" : "", left);
    };
    listeners_.found = [this](const VerifyFinding& finding) {
      so_far_.push_back(finding);
      if (!command_.json && !command_.quiet) print_finding(finding, form_.width);
    };
    listeners_.says = [](const std::string& text) { print_stderr("{}\n", plain(text)); };
  }
  VerifyOutput(const VerifyOutput&) = delete;

  // Prints and returns the findings of `verifies(listeners)`. If it throws, those until then are printed.
  template <class Verifies>
  std::vector<VerifyFinding> show(const Verifies& verifies) {
    so_far_.clear();
    try {
      std::vector<VerifyFinding> findings = verifies(listeners_);
      if (!command_.json) print_result(findings, form_);
      return findings;
    } catch (const Error&) {
      if (!command_.json && !so_far_.empty()) print_result(so_far_, form_, in_progress_);
      throw;
    }
  }

  const std::string& device_kind() const { return device_kind_; }

 private:
  const Command& command_;
  Form form_;
  VerifyListeners listeners_;
  std::size_t rows_ = 0;            // of all versions
  std::string device_kind_, in_progress_;
  std::vector<VerifyFinding> so_far_;
};

}  // namespace

int verify_strategies(const Command& command) {
  ProbeClient probe(supervisor_settings());
  VerifyRequest request;
  request.config = config_of(command, probe);
  request.data_folder = command.data;
  request.seed = command.seed.value_or(std::random_device{}() % kMostSeeds);
  request.quick = command.quick;
  const std::vector<Version> versions = chosen_versions(request.config, probe, command);
  for (const Version& version : versions) {
    request.later_rows += version.config.strategies.size();
    device_kind_to_verify(probe, version.config.scaling);  // refuses before anything is verified
  }
  const bool has_networks = !request.config.models.empty(), has_titles = has_networks || versions.size() > 1;
  const std::vector<VariantConfig> variants = request.config.variants;
  VerifyOutput output(command, request.seed, versions);
  bool passed = true;
  nlohmann::json each = nlohmann::json::array();
  for (const Version& version : versions) {
    request.config = version.config;
    request.later_rows -= version.config.strategies.size();
    request.other_config = other_network(version, versions);
    // For their numbers of ranks.
    if (version.variant.empty()) request.config.variants = variants;
    if (has_titles && !command.json) fmt::print("{}{}\n", &version == &versions.front() ? "" : "\n", title_of(version));
    const std::vector<VerifyFinding> findings = output.show([&](const VerifyListeners& listeners) {
      return verify_in_workers(request, probe, supervisor_settings(), listeners);
    });
    const bool holds = std::none_of(findings.begin(), findings.end(), [](const VerifyFinding& finding) { return finding.verdict == Verdict::failed; });
    passed &= holds;
    each.push_back({{"network", version.config.model.name},
                    {"variant", version.variant},
                    {"passed", holds},
                    {"strategies", summarized(findings)},
                    {"findings", findings}});
  }
  if (command.json) {
    nlohmann::json json = {{"seed", request.seed}, {"devices", output.device_kind()}, {"quick", request.quick}, {"passed", passed}};
    if (has_titles) json[has_networks ? "networks" : "variants"] = std::move(each);
    else json.update({{"strategies", each[0]["strategies"]}, {"findings", each[0]["findings"]}});
    fmt::print("{}\n", json_text(json, 2));
  }
  return passed ? kDone : kProblemFound;
}

}  // namespace mgcompare
