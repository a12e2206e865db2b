#include "reports/advice.h"

#include <fmt/format.h>

#include "reports/accuracy_gap.h"
#include "reports/answer.h"
#include "reports/comparison_text.h"
#include "reports/machine_doubt.h"
#include "reports/titles.h"

namespace mgcompare {

std::string advice_text(const Comparison& comparison) {
  const std::optional<Contest> rows = contest(comparison);
  if (!rows) return "";
  if (goes_by_target(comparison) && rows->order == Order::undecided && !(some_repeats(*rows->several) + some_repeats(*rows->one)).empty())
    return "What to do: train more epochs, or choose a lower target, so that every repeat reaches it";
  if (goes_by_target(comparison) && !some_repeats(*rows->several).empty()) return "";
  if (rows->order == Order::below) return fmt::format("What to do: stay with {}", title_of(*rows->one));
  if (rows->order == Order::undecided) {
    const double factor = factor_over(comparison, *rows->several, *rows->one).median;
    const double gain = comparison.objective == Objective::device_seconds ? 1 / factor : factor;
    // The trials that are still to run may decide.
    if (comparison.finished + comparison.pending_rehearsals < comparison.trials) return "What to do: finish the run before choosing (--resume)";
    // What other programs took may hide a gain.
    const std::string doubt = machine_doubt(comparison, *rows);
    if (!doubt.empty()) return fmt::format("What to do: measure again while nothing else uses the machine, because {}", doubt);
    return gain > 1 + kNoiseFloor ? "What to do: repeat more before choosing (run --until-decided)"
                                  : fmt::format("What to do: stay with {}, unless more repeats show a gain", title_of(*rows->one));
  }
  const auto figure = goes_by_target(comparison) ? device_seconds_to_target : device_seconds;
  const Spread cost = ratio(rows->several->done, rows->one->done, figure);
  const std::string lower = lower_accuracy_text(*rows->several, *rows->one);
  return fmt::format("What to do: use {}{}{}", winner_title(*rows->several),
                     cost.count == 0 ? "" : fmt::format(", for {} times the device-seconds of one device", with_range(cost)),
                     lower.empty() ? "" : fmt::format(", if its lower accuracy is enough: {}", lower));
}

}  // namespace mgcompare
