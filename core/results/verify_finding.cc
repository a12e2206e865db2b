#include "results/verify_finding.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "mgcompare/error.h"

namespace mgcompare {
namespace {

using Verdict = VerifyFinding::Verdict;

constexpr Verdict kVerdicts[] = {Verdict::passed, Verdict::failed, Verdict::printed, Verdict::skipped};

Verdict verdict_of(const std::string& name) {
  for (const Verdict verdict : kVerdicts)
    if (to_string(verdict) == name) return verdict;
  throw Error("a finding with the unknown verdict '" + name + "'");
}

// JSON has no infinity.
nlohmann::json number(double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr); }

void count(FindingSummary& summary, const VerifyFinding& finding) {
  switch (finding.verdict) {
    case Verdict::passed: ++summary.passed; break;
    case Verdict::failed: ++summary.failed; break;
    case Verdict::printed: ++summary.printed; break;
    case Verdict::skipped: ++summary.skipped; break;
  }
  if (finding.limit == 0 || finding.verdict == Verdict::printed) return;
  if (summary.limit != 0 && finding.value / finding.limit <= summary.value / summary.limit) return;
  summary.value = finding.value;
  summary.limit = finding.limit;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed: return "ok";
    case Verdict::failed: return "FAILED";
    case Verdict::printed: return "info";
    case Verdict::skipped: break;
  }
  return "skipped";
}

void to_json(nlohmann::json& json, const VerifyFinding& finding) {
  json = {{"verdict", to_string(finding.verdict)}, {"strategy", finding.strategy}, {"check", finding.check},
          {"optimizer", finding.optimizer},        {"ranks", finding.ranks},       {"figure", finding.figure},
          {"value", number(finding.value)},        {"limit", finding.limit}};
}

void from_json(const nlohmann::json& json, VerifyFinding& finding) {
  const nlohmann::json& value = json.at("value");
  finding = {verdict_of(json.at("verdict").get<std::string>()),
             json.at("strategy").get<std::string>(),
             json.at("check").get<std::string>(),
             json.at("optimizer").get<std::string>(),
             json.at("ranks").get<int>(),
             json.at("figure").get<std::string>(),
             value.is_null() ? INFINITY : value.get<double>(),
             json.at("limit").get<double>()};
}

Verdict FindingSummary::verdict() const {
  return failed > 0 ? Verdict::failed : passed > 0 ? Verdict::passed : Verdict::skipped;
}

std::vector<FindingSummary> summarized(const std::vector<VerifyFinding>& findings) {
  std::vector<FindingSummary> summaries;
  for (const VerifyFinding& finding : findings) {
    auto of_strategy = std::find_if(summaries.begin(), summaries.end(),
                                    [&](const FindingSummary& each) { return each.strategy == finding.strategy; });
    if (of_strategy == summaries.end()) {
      summaries.push_back({.strategy = finding.strategy});
      of_strategy = std::prev(summaries.end());
    }
    count(*of_strategy, finding);
  }
  return summaries;
}

void to_json(nlohmann::json& json, const FindingSummary& summary) {
  json = {{"strategy", summary.strategy}, {"verdict", to_string(summary.verdict())}, {"passed", summary.passed},
          {"failed", summary.failed},     {"printed", summary.printed},              {"skipped", summary.skipped},
          {"value", number(summary.value)}, {"limit", summary.limit}};
}

}  // namespace mgcompare
