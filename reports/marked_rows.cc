#include "reports/marked_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/findings.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

constexpr std::size_t kBrokenAlone = 5;  // broken promises with a sentence of their own

std::string figure_text(double share) { return share < 0.1 ? fmt::format("{:.2g} %", 100 * share) : percent_text(share); }

std::string broken_text(const Cell& cell) {
  const PromiseCheck& check = cell.promise;
  const bool is_loss = check.what == "loss";
  const std::string what = is_loss                                    ? "training loss differs"
                           : check.what == "weights"                  ? "weights differ"
                           : check.what == "weights within the epoch" ? "weights of an evaluation within the epoch differ"
                                                                      : "statistics of batch normalisation differ";
  return fmt::format(
      "{} breaks its promise: it is exact, but in epoch {} its {} from the baseline's by {} of {}, and rounding explains at most "
      "{}. It is not ranked",
      title_of(cell), check.epoch, what, figure_text(check.departure), is_loss ? "the first epoch's" : "their norm", figure_text(check.bound));
}

std::vector<const Cell*> cells_with(const Comparison& comparison, MarkKind kind) {
  std::vector<const Cell*> cells;
  for (const Cell& cell : comparison.cells)
    if (cell.is_marked(kind)) cells.push_back(&cell);
  return cells;
}

// The largest processor time of other threads, in processors.
double busy_processors(const std::vector<const Cell*>& cells) {
  double most = 0;
  for (const Cell* cell : cells)
    for (const Row* row : cell->done) most = std::max(most, row->result.seconds_other_threads / row->result.seconds_training);
  return most;
}

}  // namespace

std::vector<std::string> marked_rows(const Comparison& comparison) {
  std::vector<std::string> all;
  std::vector<const Cell*> broken = cells_with(comparison, MarkKind::broken_promise);
  for (std::size_t k = 0; k < std::min(kBrokenAlone, broken.size()); ++k) all.push_back(broken_text(*broken[k]));
  broken.erase(broken.begin(), broken.begin() + static_cast<std::ptrdiff_t>(std::min(kBrokenAlone, broken.size())));
  if (!broken.empty()) all.push_back(fmt::format("More rows that break their promise and are not ranked: {}", titles_of(broken)));
  if (const auto cells = cells_with(comparison, MarkKind::sent_nothing); !cells.empty())
    all.push_back(fmt::format("Several ranks ended with one model, but sent no counted bytes: {}. Such rows are not ranked, because "
                              "what they exchange cannot be seen", titles_of(cells)));
  if (const auto cells = cells_with(comparison, MarkKind::ceiling_sent); !cells.empty())
    all.push_back(fmt::format("They promise the ceiling, training without exchange, but sent bytes: {}. Such rows are no bound for the others", titles_of(cells)));
  if (const auto cells = cells_with(comparison, MarkKind::other_clock); !cells.empty())
    all.push_back(fmt::format("The clock of a backend and the program's differ: {}. Such rows are not ranked, because what the backend calls its training "
                              "is not what was timed. What to do: {}", titles_of(cells), remedy_of(MarkKind::other_clock)));
  if (const auto cells = cells_with(comparison, MarkKind::works_unclocked); !cells.empty())
    all.push_back(fmt::format("Backends that work long outside of the interval that they call training: {}. Such rows are not ranked, because part of their "
                              "training may be outside of the training clock. What to do: {}", titles_of(cells), remedy_of(MarkKind::works_unclocked)));
  if (const auto cells = cells_with(comparison, MarkKind::sent_too_little); !cells.empty())
    all.push_back(fmt::format("Exact, but the counted bytes of a step are fewer than any exact exchange needs: {}. Such rows are not "
                              "ranked, because what they exchange cannot be seen", titles_of(cells)));
  if (const auto cells = cells_with(comparison, MarkKind::other_samples); !cells.empty())
    all.push_back(fmt::format("They did not train each sample once per epoch: {}. Such rows are not ranked, because their "
                              "samples/s count other work", titles_of(cells)));
  if (const auto cells = cells_with(comparison, MarkKind::ignored_samples); !cells.empty())
    all.push_back(fmt::format("Samples without a backward pass, or whose gradients nothing read: {}. Such rows are not ranked, because "
                              "their samples/s count samples that they did not learn from", titles_of(cells)));
  if (const auto cells = cells_with(comparison, MarkKind::same_weights); !cells.empty())
    all.push_back(fmt::format("Every epoch ended with the same weights: {}. Such rows are not ranked, because nothing was learned after the first. What to do: {}", titles_of(cells),
                              remedy_of(MarkKind::same_weights)));
  if (const auto cells = cells_with(comparison, MarkKind::other_statistics); !cells.empty())
    all.push_back(fmt::format("Exact, but samples that they did not learn from passed forward and changed the statistics of batch normalisation: {}. "
                              "Such rows are not ranked, because their accuracy is not that of one device", titles_of(cells)));
  if (const auto cells = cells_with(comparison, MarkKind::stood_still); !cells.empty())
    all.push_back(fmt::format("Their process was stopped during the training, or the machine was suspended: {}. Such rows are not ranked, because the "
                              "pause is in their time; run them again", titles_of(cells)));
  if (const auto cells = cells_with(comparison, MarkKind::too_short); !cells.empty())
    all.push_back(fmt::format("Too short to measure (less than {:g} ms or {} steps of training): {}. Such rows have no speed-up and are "
                              "not ranked; train more epochs or samples", 1e3 * kLeastSeconds, kLeastSteps, titles_of(cells)));
  if (const auto cells = cells_with(comparison, MarkKind::changed_settings); !cells.empty())
    all.push_back(fmt::format("The strategy changed settings of its threads, such as their processors, priority or arithmetic: {}. Such "
                              "rows are not ranked, because the others ran under other conditions", titles_of(cells)));
  if (const auto cells = cells_with(comparison, MarkKind::ranks_apart); !cells.empty())
    all.push_back(fmt::format("Ranks ended an epoch with different weights, although they train one model: {}. Such rows are not ranked, "
                              "because only rank 0's model is reported", titles_of(cells)));
  if (const auto cells = cells_with(comparison, MarkKind::moved_by_settle); !cells.empty())
    all.push_back(fmt::format("settle() changed the weights that the training goes on with: {}. Such rows are not ranked, because part of "
                              "their training is outside of the training clock", titles_of(cells)));
  if (const auto cells = cells_with(comparison, MarkKind::unchecked_promise); !cells.empty())
    all.push_back(fmt::format("Exact rows whose promise was not checked: {}. The reason: {}", titles_of(cells), cells.front()->promise.what));
  if (const auto cells = cells_with(comparison, MarkKind::lost_processors); !cells.empty())
    all.push_back(fmt::format("Their ranks waited for processors while they computed: {}. Another run or program used the same cores, a limit on processor "
                              "time applies (a container's, for example), or the process was stopped for moments; run them again without it", titles_of(cells)));
  if (const auto cells = cells_with(comparison, MarkKind::busy_threads); !cells.empty())
    all.push_back(fmt::format("Threads that are not ranks, or other processes, used up to {:.2f} processors during the training: {}. Their work is not "
                              "counted in `devices`", busy_processors(cells), titles_of(cells)));
  return all;
}

std::vector<std::string> legend_of_marks(const Comparison& comparison) {
  std::vector<std::string> lines;
  for (const Cell& cell : comparison.cells)
    if (!cell.marks.empty()) lines.push_back(fmt::format("{}: {}", title_of(cell), marks_text(cell.marks)));
  constexpr std::size_t kMost = 8;
  if (lines.size() > kMost) {
    const std::size_t more = lines.size() - kMost;
    lines.resize(kMost);
    lines.push_back(fmt::format("and {} more rows", more));
  }
  return lines;
}

}  // namespace mgcompare
