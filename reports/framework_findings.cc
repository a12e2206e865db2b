#include "reports/framework_findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/framework.h"
#include "reports/frameworks.h"
#include "reports/table_rows.h"
#include "reports/text.h"
#include "reports/titles.h"

namespace mgcompare {
namespace {

constexpr std::size_t kLeastRepeats = 3;  // of each row, to tell whether accuracies differ

std::string label_of(const Cell& cell) { return plain(cell.trial().strategy.label); }

std::string devices_of_cell(const Cell& cell) { return devices_text(cell.trial().devices, cell.trial().device_kind); }

// "points" of accuracy.
std::string points_text(double share) {
  const double points = 100 * std::abs(share);
  return fmt::format("{:.{}f} points", points, points < 0.1 ? 3 : points < 1 ? 2 : 1);
}

// "1.92", "0.023": frameworks may differ by orders of magnitude.
std::string ratio_figure(double ratio) { return ratio < 0.1 ? fmt::format("{:#.2g}", ratio) : fmt::format("{:.2f}", ratio); }

// "2 GPUs are 1.90 [1.85 .. 1.93] times as fast as one"
std::string ratio_text(const FrameworkRows& rows) {
  return fmt::format("{} are {} times as fast as one", devices_of_cell(*rows.several), with_range(rows.ratio));
}

std::string rows_text(const FrameworkRows& rows) { return fmt::format("{} against {}", label_of(*rows.several), label_of(*rows.one)); }

const FrameworkRows* own_of(const FrameworkPlace& place) {
  return place.frameworks.front().is_own ? &place.frameworks.front() : nullptr;
}

// What is missing for the ratio of a framework; empty if nothing is.
std::string missing_text(const FrameworkRows& rows) {
  if (rows.several == nullptr) return "there is no usable row on several devices";
  if (rows.ratio.count == 0)
    return fmt::format("there is no usable {} to compare {} with", rows.is_own ? "one-device baseline" : "row on one device", label_of(*rows.several));
  return "";
}

std::string steps_text(const FrameworkRows& own, const FrameworkRows& other) {
  return fmt::format("step on one device takes {} here and {} there", seconds_text(own.one->step_seconds.median),
                     seconds_text(other.one->step_seconds.median));
}

// What explains the difference if the length of the step alone does not.
std::string costs_text(const StepEffect& effect) {
  const std::string alone = std::isfinite(effect.estimate) ? fmt::format(", which alone would make it {} there", ratio_figure(effect.estimate)) : "";
  const auto cost = [](double seconds) { return (seconds < 0 ? "-" : "") + seconds_text(std::abs(seconds)); };
  return fmt::format("{}; what several devices add to their share of a step is {} here and {} there", alone, cost(effect.own_cost), cost(effect.other_cost));
}

// "; here 0.90 (replicated against serial), because ...": the end of a sentence about another framework.
std::string here_text(const FrameworkRows& own, const FrameworkRows& other) {
  if (const std::string missing = missing_text(own); !missing.empty()) return fmt::format("; here {}", missing);
  const bool is_alike = own.several->trial().devices == other.several->trial().devices;
  const std::string here = fmt::format("; here {} ({})", is_alike ? with_range(own.ratio) : ratio_text(own), rows_text(own));
  const StepEffect effect = step_effect(own, other);
  switch (effect.reason) {
    case StepReason::by_step: return fmt::format("{}, because a {}", here, steps_text(own, other));
    case StepReason::not_by_step: return fmt::format("{}. A {}{}", here, steps_text(own, other), costs_text(effect));
    case StepReason::undecided: return fmt::format("{}; undecided: {}. A {}", here, doubt_of(own.ratio, other.ratio), steps_text(own, other));
    case StepReason::unknown: return here;
  }
  return here;
}

std::string answer_of(const FrameworkPlace& place, const FrameworkRows& rows) {
  const FrameworkRows* own = own_of(place);
  if (const std::string missing = missing_text(rows); !missing.empty())
    return fmt::format("In {} {} at {}: whether several devices pay there is not known{}", rows.title, missing, place.title,
                       rows.several == nullptr || rows.is_own ? "" : "; add such a row to `strategies`");
  return fmt::format("In {}, {} at {} ({}){}", rows.title, ratio_text(rows), place.title, rows_text(rows), own == nullptr ? "" : here_text(*own, rows));
}

bool is_open(const FrameworkRows& rows) { return rows.several->order == Order::undecided; }

// "2 GPUs against one at batch 128: 0.90 [0.88 .. 0.91] here, 1.90 [1.86 .. 1.93] in PyTorch 2.11.0"; empty if no framework has a ratio.
// `says_open`: which of them are undecided.
std::string short_answer(const FrameworkPlace& place, bool says_open) {
  std::vector<std::string> ratios;
  std::set<std::string> devices;
  for (const FrameworkRows& rows : place.frameworks)
    if (rows.ratio.count > 0) devices.insert(devices_of_cell(*rows.several));
  if (devices.empty()) return "";
  for (const FrameworkRows& rows : place.frameworks)
    if (rows.ratio.count > 0)
      ratios.push_back(fmt::format("{} {}{}{}", with_range(rows.ratio), rows.is_own ? "here" : "in " + rows.title,
                                   devices.size() == 1 ? "" : fmt::format(" ({})", devices_of_cell(*rows.several)),
                                   says_open && is_open(rows) ? " (undecided)" : ""));
  return fmt::format("{} against one at {}: {}", devices.size() == 1 ? *devices.begin() : "several devices", place.title, fmt::join(ratios, ", "));
}

TextRow framework_line(const Comparison& comparison, const Cell& cell) {
  const Cell* base = cell.baseline ? &comparison.cells[*cell.baseline] : nullptr;
  TextRow line = {framework_title(*cell.done.front())};
  return with(with(line, identity(cell)),
              {in_two(with_range(cell.samples_per_second, rate_text)), in_two(with_range(cell.step_seconds, seconds_text)),
               base == nullptr ? "-" : in_two(with_range(cell.speed_up)), base == nullptr ? "-" : label_of(*base)});
}

bool has_repeats(const Coincidence& pair) { return std::min(pair.one->done.size(), pair.other->done.size()) >= kLeastRepeats; }

std::string noise_text(const Coincidence& pair) { return fmt::format("noise explains up to {}", points_text(pair.worst.bound)); }

// "One row of other frameworks", "3 rows of other frameworks"
std::string rows_of_others(std::size_t count) { return count == 1 ? "One row of other frameworks" : fmt::format("{} rows of other frameworks", count); }

const Coincidence& farthest(const std::vector<Coincidence>& pairs) {
  return *std::max_element(pairs.begin(), pairs.end(), [](const Coincidence& one, const Coincidence& other) {
    return std::abs(one.worst.difference) < std::abs(other.worst.difference);
  });
}

std::string coinciding_text(const std::vector<Coincidence>& pairs) {
  const Coincidence& largest = farthest(pairs);
  const std::string rows = fmt::format("{} learn{} as the row here that computes in the same way", rows_of_others(pairs.size()), pairs.size() == 1 ? "s" : "");
  if (largest.worst.difference == 0) return rows + ": the accuracies are equal after every epoch";
  return fmt::format("{}: the accuracies coincide within noise after every epoch. The largest difference is {}, of {} after epoch {}, where {}", rows,
                     points_text(largest.worst.difference), title_of(*largest.one), largest.worst.epoch, noise_text(largest));
}

std::string untold_text(const std::vector<Coincidence>& pairs) {
  const Coincidence& largest = farthest(pairs);
  return fmt::format("Whether {} learn{} as the row here that computes in the same way is not told, for lack of three repeats: the largest difference is {}, of {} "
                     "after epoch {}",
                     pairs.size() == 1 ? "one row of other frameworks" : rows_of_others(pairs.size()), pairs.size() == 1 ? "s" : "",
                     points_text(largest.worst.difference), title_of(*largest.one), largest.worst.epoch);
}

// "0.77 PyTorch eager, 0.08 PyTorch graph": against each row of its framework on one device.
std::string against_each(const FrameworkPlace& place, const Cell& several) {
  std::vector<std::string> ratios;
  for (const Cell* one : place.cells)
    if (one->framework == several.framework && one->trial().devices == 1)
      ratios.push_back(fmt::format("{} {}", ratio_figure(ratio(several.done, one->done, throughput).median), label_of(*one)));
  return fmt::format("{}", fmt::join(ratios, ", "));
}

}  // namespace

std::vector<std::string> framework_answers(const Comparison& comparison) {
  std::vector<std::string> all;
  for (const FrameworkPlace& place : framework_places(comparison))
    for (const FrameworkRows& rows : place.frameworks)
      if (!rows.is_own) all.push_back(answer_of(place, rows));
  return all;
}

std::string framework_summary(const Comparison& comparison) {
  const std::vector<FrameworkPlace> places = framework_places(comparison);
  std::size_t ratios = 0, open = 0;
  for (const FrameworkPlace& place : places)
    for (const FrameworkRows& rows : place.frameworks) {
      if (rows.ratio.count == 0) continue;
      ++ratios;
      open += is_open(rows) ? 1 : 0;
    }
  const bool are_all_open = ratios > 1 && open == ratios;
  std::vector<std::string> texts;
  for (const FrameworkPlace& place : places)
    if (std::string text = short_answer(place, !are_all_open); !text.empty()) texts.push_back(std::move(text));
  if (texts.empty()) return "";
  constexpr std::size_t kShown = 2;
  const std::size_t more = texts.size() - std::min(kShown, texts.size());
  texts.resize(texts.size() - more);
  return fmt::format("By framework, {}{}{}", fmt::join(texts, "; "), more == 0 ? "" : fmt::format("; {} more in the report", more),
                     are_all_open ? "; all are undecided" : "");
}

std::vector<std::string> coincidence_sentences(const Comparison& comparison) {
  std::vector<Coincidence> alike, apart, untold;
  for (const Coincidence& pair : framework_coincidences(comparison)) (!pair.coincides() ? apart : has_repeats(pair) ? alike : untold).push_back(pair);
  std::vector<std::string> all;
  if (!alike.empty()) all.push_back(coinciding_text(alike));
  if (!untold.empty()) all.push_back(untold_text(untold));
  for (const Coincidence& pair : apart)
    all.push_back(fmt::format("The accuracy of {} does not coincide with that of {} here: after epoch {} it is {} {}, and {}", title_of(*pair.one),
                              label_of(*pair.other), pair.worst.epoch, points_text(pair.worst.difference),
                              pair.worst.difference > 0 ? "higher" : "lower", noise_text(pair)));
  return all;
}

std::string left_out_of_frameworks(const Comparison& comparison) {
  if (!comparison.has_frameworks()) return "";
  std::vector<const Cell*> cells;
  for (const Cell& cell : comparison.cells)
    if (!cell.done.empty() && cell.is_disqualified()) cells.push_back(&cell);
  if (cells.empty()) return "";
  // The remarks say what each mark means; this is what to do about it.
  std::vector<std::string> names, remedies;
  for (const Cell* cell : cells)
    for (const Mark& mark : cell->marks)
      if (const std::string remedy = remedy_of(mark.kind); disqualifies(mark.kind) && std::find(remedies.begin(), remedies.end(), remedy) == remedies.end())
        remedies.push_back(remedy);
  for (const Cell* cell : cells) names.push_back(fmt::format("{} ({})", title_of(*cell), marks_text(cell->marks)));
  return fmt::format("Left out because of their marks: {}. What to do: {}", fmt::join(names, "; "), fmt::join(remedies, "; "));
}

std::vector<std::string> framework_sentences(const Comparison& comparison) {
  std::vector<std::string> all = framework_answers(comparison);
  for (std::string& sentence : coincidence_sentences(comparison)) all.push_back(std::move(sentence));
  if (std::string names = left_out_of_frameworks(comparison); !names.empty()) all.push_back(std::move(names));
  return all;
}

Table framework_answer_table(const Comparison& comparison) {
  Table table{"Several devices against one, by framework",
              "The row of each framework with the most samples/s on several devices, its samples/s divided by those of its fastest row on one device, by "
              "seed; for the program's own rows by those of the one-device baseline.",
              {"framework", "strategy", "devices", "global batch", "against one device", "which is", "step on one device"},
              3,
              {}, {}};
  for (const FrameworkPlace& place : framework_places(comparison))
    for (const FrameworkRows& rows : place.frameworks)
      if (rows.ratio.count > 0)
        table.lines.push_back(with(with({rows.title}, identity(*rows.several)),
                                   {in_two(with_range(rows.ratio, ratio_figure)), label_of(*rows.one), seconds_text(rows.one->step_seconds.median)}));
  return table.lines.empty() ? Table{} : table;
}

Table mode_table(const Comparison& comparison) {
  Table table{"Several devices against each row on one device",
              "Samples/s of each row on several devices divided by those of each row of the same framework on one device, medians by seed. Read it along "
              "the row that you train with today.",
              {"framework", "strategy", "devices", "global batch", "against"},
              5,
              {}, {}};
  bool has_choice = false;
  for (const FrameworkPlace& place : framework_places(comparison))
    for (const FrameworkRows& rows : place.frameworks) {
      const auto is_one = [&](const Cell* cell) { return cell->framework == rows.name && cell->trial().devices == 1; };
      const auto alone = std::count_if(place.cells.begin(), place.cells.end(), is_one);
      if (alone == 0 || rows.is_own) continue;
      has_choice |= alone > 1;
      for (const Cell* cell : place.cells)
        if (cell->framework == rows.name && cell->trial().devices > 1)
          table.lines.push_back(with(with({rows.title}, identity(*cell)), {against_each(place, *cell)}));
    }
  return has_choice ? table : Table{};
}

Table framework_table(const Comparison& comparison) {
  Table table{"Samples/s by framework",
              "Speed-up: samples/s divided by those of one device in the same framework: its fastest such row, for the program's own rows the "
              "one-device baseline. The median step of a backend is that of the means of its epochs.",
              {"framework", "strategy", "devices", "global batch", "samples/s", "median step", "speed-up", "against"},
              3,
              {}, {}};
  for (const FrameworkPlace& place : framework_places(comparison))
    for (const FrameworkRows& rows : place.frameworks)
      for (const Cell* cell : place.cells)
        if (cell->framework == rows.name) table.lines.push_back(framework_line(comparison, *cell));
  return table.lines.empty() ? Table{} : table;
}

Table like_table(const Comparison& comparison) {
  Table table{"Frameworks at equal strategies",
              "Samples/s of a framework's row divided by those of the row of this program that computes in the same way, on as many devices "
              "at the same batch, by seed. Backends say which strategy that is; rows without one are left out.",
              {"framework", "strategy", "devices", "global batch", "samples/s", "the same here", "samples/s here", "ratio", "order"},
              3,
              {}, {}};
  for (const LikePair& pair : like_pairs(comparison))
    table.lines.push_back(with(with({framework_title(*pair.cell->done.front())}, identity(*pair.cell)),
                               {in_two(with_range(pair.cell->samples_per_second, rate_text)), label_of(*pair.own),
                                in_two(with_range(pair.own->samples_per_second, rate_text)), in_two(with_range(pair.ratio, ratio_figure)), order_text(pair.order)}));
  return table.lines.empty() ? Table{} : table;
}

}  // namespace mgcompare
