#include "reports/answer_block.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "reports/answer.h"
#include "reports/batch_range.h"
#include "reports/cost.h"
#include "reports/findings.h"
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

Data tiles_of(const Comparison& comparison) {
  Data tiles{Data::type::list};
  if (comparison.ranking.empty()) return tiles;
  const Comparison by_time = ranked_by(comparison, Objective::time_to_accuracy);
  const Cell& first = by_time.cells[by_time.ranking.front()];
  if (by_time.target_reached) {
    tiles.push_back(tile(fmt::format("Fastest to {}", target_text(comparison.target_accuracy)),
                         seconds_text(first.seconds_to_target.median), title_of(first)));
  }
  const Comparison by_speed = ranked_by(comparison, Objective::throughput);
  const Cell& fastest = by_speed.cells[by_speed.ranking.front()];
  tiles.push_back(tile("Most samples/s", rate_text(fastest.samples_per_second.median), title_of(fastest)));
  if (const Cell* best = best_on_several(by_speed)) {
    tiles.push_back(tile("Best speed-up on several devices", fmt::format("{:.2f}x", best->speed_up.median),
                         fmt::format("{} of ideal, {}", percent_text(best->efficiency.median), title_of(*best))));
  }
  if (const std::vector<const Cell*> cheapest = cheapest_rows(comparison); !cheapest.empty()) {
    tiles.push_back(tile(fmt::format("Cheapest {}", comparison.target_reached ? cost_scope(comparison) : "training"),
                         cost_text(cost_of(comparison, *cheapest.front()).median), title_of(*cheapest.front())));
  }
  tiles.push_back(tile("Accuracy of the first row",
                       accuracy_text(comparison.cells[comparison.ranking.front()].accuracy.median),
                       title_of(comparison.cells[comparison.ranking.front()])));
  return tiles;
}

Data objectives_of(const Comparison& comparison) {
  constexpr const char* kTitles[] = {"Time to accuracy", "Throughput", "Cost in device-seconds"};
  Data all{Data::type::list};
  for (const Objective objective : kObjectives) {
    Data findings{Data::type::list};
    std::vector<Finding> found = ranking_findings(ranked_by(comparison, objective));
    if (objective == Objective::time_to_accuracy && !(comparison.target_accuracy > 0))
      found.insert(found.begin(), {"The config sets no target accuracy: rows are ranked by samples/s"});
    for (const Finding& finding : found) {
      Data one;
      one.set("level", fmt::format("{}", finding.level));
      one.set("text", finding.text);
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

Data answer_block(const Overview& overview, const Comparison& comparison, std::size_t number) {
  Answer first = answer(comparison);
  if (first.verdict.empty()) first.verdict = ranking_findings(comparison).front().text;
  Data remarks{Data::type::list};
  for (const Finding& finding : reservations(comparison)) remarks.push_back(finding.text);
  Data data;
  data.set("about", text_or_nothing(overview.title_of(comparison)));
  data.set("part", number == 0 ? "" : fmt::format("-{}", number + 1));
  data.set("verdict", first.verdict);
  data.set("grounds", text_or_nothing(first.grounds));
  Data consequences{Data::type::list};
  for (const std::string& text : {further_repeats_text(comparison), batch_range_text(comparison)})
    if (!text.empty()) consequences.push_back(text);
  data.set("consequences", consequences);
  data.set("tiles", tiles_of(comparison));
  data.set("objectives", objectives_of(comparison));
  data.set("reservations", remarks);
  return data;
}

}  // namespace mgcompare
