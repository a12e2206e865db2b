#include "reports/machine_doubt.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "config/problem.h"
#include "reports/copies.h"
#include "reports/drift.h"
#include "reports/oversubscription.h"
#include "reports/text.h"

namespace mgcompare {

std::string machine_doubt(const Comparison& comparison, const Contest& rows) {
  std::vector<std::string> doubts;
  if (!comparison.run->info.taints.empty()) doubts.emplace_back("the run is tainted");
  bool is_busy = false;
  for (const Cell* cell : {rows.several, rows.one}) {
    const auto crowded = oversubscription(*comparison.run, *cell);
    if (is_busy || !crowded || !crowded->is_by_others()) continue;
    // Of a minute: it also has a run that ended just before.
    doubts.push_back(fmt::format("the load average before the run, earlier runs included, was {:.2f} on {:.0f} core{}", crowded->load, crowded->cores,
                                 crowded->cores == 1 ? "" : "s"));
    is_busy = true;
  }
  if (const std::vector<SpeedDrift> found = drifts(comparison); !found.empty())
    doubts.push_back(fmt::format("the machine's speed changed by {}", change_text(largest(found).change)));
  const std::optional<Copies> copies = copies_beside(comparison.cells, figure_of(comparison), *rows.several, *rows.one);
  if (copies && (rows.is_by_machine || copies->departure() > kFarCopy))
    doubts.push_back(fmt::format("the A/A check is off by a factor of {:.2f}", copies->off_by()));
  return listed(doubts);
}

}  // namespace mgcompare
