#include "reports/answer_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/advice.h"
#include "reports/answer.h"
#include "reports/batch_range.h"
#include "reports/comparison_text.h"
#include "reports/cost.h"
#include "reports/failures.h"
#include "reports/findings.h"
#include "reports/framework_findings.h"
#include "reports/further_repeats.h"
#include "reports/section.h"
#include "reports/text.h"
#include "reports/titles.h"

namespace mgcompare {
namespace {

using Data = kainjow::mustache::data;

Data tile(const std::string& label, const std::string& figure, const std::string& detail) {
  Data data;
  data.set("label", label);
  data.set("figure", figure);
  data.set("detail", detail);
  return data;
}

// The first row on several devices; null if there is none.
const Cell* first_on_several(const Comparison& ranked) {
  const auto found = std::find_if(ranked.ranking.begin(), ranked.ranking.end(), [&](std::size_t index) { return ranked.cells[index].trial().devices > 1; });
  return found == ranked.ranking.end() ? nullptr : &ranked.cells[*found];
}

// Of the best row on several devices. Where a row on one device is better, its figure is in the detail.
Data best_tile(const std::string& label, const Comparison& ranked, Spread Cell::* figure, std::string (*text)(double)) {
  const Cell& first = ranked.cells[ranked.ranking.front()];
  const Cell* several = first_on_several(ranked);
  if (several == nullptr || several == &first || (several->*figure).count == 0) return tile(label, text((first.*figure).median), title_of(first));
  return tile(label + " on several devices", text((several->*figure).median),
              fmt::format("{}; on one device {}", title_of(*several), text((first.*figure).median)));
}

Data tiles_of(const Comparison& comparison) {
  Data tiles{Data::type::list};
  if (comparison.ranking.empty()) return tiles;
  const Comparison by_time = ranked_by(comparison, Objective::time_to_accuracy);
  if (by_time.target_reached)
    tiles.push_back(best_tile(fmt::format("Fastest to {}", target_text(comparison.target_accuracy)), by_time, &Cell::seconds_to_target, seconds_text));
  const Comparison by_speed = ranked_by(comparison, Objective::throughput);
  tiles.push_back(best_tile("Most samples/s", by_speed, &Cell::samples_per_second, rate_text));
  if (const Cell* best = best_on_several(by_speed)) {
    tiles.push_back(tile("Best speed-up of samples/s", fmt::format("{:.2f}x", best->speed_up.median),
                         fmt::format("{} of ideal, {}", percent_text(best->efficiency.median), title_of(*best))));
  }
  if (const std::vector<const Cell*> cheapest = cheapest_rows(comparison); !cheapest.empty()) {
    tiles.push_back(tile(fmt::format("Cheapest {}", comparison.target_reached ? cost_scope(comparison) : "training"),
                         cost_text(cost_of(comparison, *cheapest.front()).median), title_of(*cheapest.front())));
  }
  const Cell* const several = best_on_several(comparison);
  const Cell& answer = several == nullptr ? comparison.cells[comparison.ranking.front()] : *several;
  tiles.push_back(tile("Accuracy after the last epoch", accuracy_text(answer.accuracy.median), title_of(answer)));
  return tiles;
}

// "Crashed (9 trials): the worker was killed by signal 11", for each kind of failure, the most frequent first.
std::vector<std::string> failure_sentences(const Comparison& comparison) {
  constexpr std::size_t kMost = 5;
  struct Kind {
    std::string status, cause;
    std::size_t trials = 0;
  };
  std::vector<Kind> kinds;
  for (const Failure& failure : failures(comparison)) {
    const std::string status(to_string(failure.status));
    auto same = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& kind) { return kind.status == status && kind.cause == failure.cause; });
    if (same == kinds.end()) same = kinds.insert(kinds.end(), {status, failure.cause});
    same->trials += failure.trials;
  }
  std::stable_sort(kinds.begin(), kinds.end(), [](const Kind& a, const Kind& b) { return a.trials > b.trials; });
  std::vector<std::string> sentences;
  for (std::size_t k = 0; k < std::min(kMost, kinds.size()); ++k) {
    std::string status = kinds[k].status;
    status.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(status.front())));
    sentences.push_back(fmt::format("{} ({} trial{}){}{}", status, kinds[k].trials, kinds[k].trials == 1 ? "" : "s", kinds[k].cause.empty() ? "" : ": ",
                                    kinds[k].cause));
  }
  if (kinds.size() > kMost) sentences.push_back("More causes are in Tables and origin");
  return sentences;
}

// What follows from the answer, in the order in which a reader asks.
std::vector<std::string> consequences_of(const Comparison& comparison) {
  if (!comparison.has_results()) return failure_sentences(comparison);
  if (comparison.ranking.empty() && !answer(comparison).verdict.empty()) return {ranking_findings(comparison).front().text};
  std::vector<std::string> all = {batch_range_text(comparison), why_not_text(comparison),
                                  above_ideal_text(comparison), further_repeats_below_answer(comparison),
                                  advice_text(comparison),      framework_summary(comparison)};
  std::erase(all, "");
  return all;
}

Data objectives_of(const Comparison& comparison, const std::vector<std::string>& said) {
  constexpr const char* kTitles[] = {"Time to accuracy", "Throughput", "Cost in device-seconds"};
  Data all{Data::type::list};
  if (comparison.ranking.empty()) return all;
  for (const Objective objective : kObjectives) {
    Data findings{Data::type::list};
    std::vector<Finding> found = ranking_findings(ranked_by(comparison, objective));
    // The answer has said it.
    if (objective == comparison.objective)
      std::erase_if(found, [&](const Finding& finding) { return std::find(said.begin(), said.end(), finding.text) != said.end(); });
    if (objective == Objective::time_to_accuracy && !(comparison.target_accuracy > 0))
      found.insert(found.begin(), {"The config sets no target accuracy: rows are ranked by samples/s"});
    for (const Finding& finding : found) {
      Data one;
      one.set("level", fmt::format("{}", finding.level));
      one.set("text", sentence_text(finding.text));
      findings.push_back(one);
    }
    Data data;
    data.set("id", std::string(to_string(objective)));
    data.set("title", kTitles[static_cast<int>(objective)]);
    data.set("chosen", objective == comparison.objective);
    data.set("findings", findings);
    all.push_back(data);
  }
  return all;
}

}  // namespace

std::string short_answer(const Comparison& comparison) {
  const Answer whole = answer(comparison);
  if (whole.verdict.empty()) return ranking_findings(comparison).front().text;
  const std::optional<Contest> rows = contest(comparison);
  if (!rows) return whole.verdict;
  return fmt::format("{}: {} times{}", whole.verdict, with_range(factor_over(comparison, *rows->several, *rows->one)),
                     comparison.objective == Objective::device_seconds ? " the device-seconds" : "");
}

Data answer_block(const Overview& overview, const Comparison& comparison, std::size_t number) {
  Answer first = answer(comparison);
  if (first.verdict.empty()) first.verdict = ranking_findings(comparison).front().text;
  Data remarks{Data::type::list};
  for (const Finding& finding : reservations(comparison)) remarks.push_back(sentence_text(finding.text));
  Data data;
  data.set("about", text_or_nothing(overview.title_of(comparison)));
  data.set("part", number == 0 ? "" : fmt::format("-{}", number + 1));
  data.set("verdict", sentence_text(first.verdict));
  data.set("grounds", text_or_nothing(sentence_text(first.grounds)));
  const std::vector<std::string> next = consequences_of(comparison);
  Data consequences{Data::type::list};
  for (const std::string& text : next) consequences.push_back(sentence_text(text));
  const Data objectives = objectives_of(comparison, next);
  data.set("consequences", consequences);
  data.set("tiles", tiles_of(comparison));
  data.set("ranked", !objectives.list_value().empty());
  data.set("objectives", objectives);
  data.set("reservations", remarks);
  return data;
}

}  // namespace mgcompare
