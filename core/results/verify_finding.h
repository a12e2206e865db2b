#pragma once

// What one check of `verify` found, and the summary of the findings about a strategy.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace mgcompare {

struct VerifyFinding {
  enum class Verdict { passed, failed, printed, skipped } verdict = Verdict::passed;
  std::string strategy;             // the row's label, or "planted"
  std::string check;                // "equals one device on the global batch"
  std::string optimizer;            // "sgd", "momentum", "adam", "adadelta"; empty: all of them
  int ranks = 1;                    // 0: all numbers of ranks
  std::string figure;               // the measured value and its limit, in words
  double value = 0, limit = 0;      // of a difference that has a limit; limit 0: it has none
};

// "ok", "FAILED", "info", "skipped".
std::string_view to_string(VerifyFinding::Verdict verdict);

void to_json(nlohmann::json& json, const VerifyFinding& finding);
// Throws Error or a JSON exception.
void from_json(const nlohmann::json& json, VerifyFinding& finding);

struct FindingSummary {
  std::string strategy;
  std::size_t passed = 0, failed = 0, printed = 0, skipped = 0;
  double value = 0, limit = 0;      // of the judged difference that came closest to its limit; limit 0: there was none
  VerifyFinding::Verdict verdict() const;
};

// One for each strategy, in the order of their first findings.
std::vector<FindingSummary> summarized(const std::vector<VerifyFinding>& findings);

void to_json(nlohmann::json& json, const FindingSummary& summary);

}  // namespace mgcompare
