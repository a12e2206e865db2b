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
    return fmt::format("In {} {} at {}: whether several devices pay there is not known", rows.title, missing, place.title);
  return fmt::format("In {}, {} at {} ({}){}", rows.title, ratio_text(rows), place.title, rows_text(rows), own == nullptr ? "" : here_text(*own, rows));
}

// "2 GPUs against one at batch 128: 0.90 [0.88 .. 0.91] here, 1.90 [1.86 .. 1.93] in PyTorch 2.11.0"; empty if no framework has a ratio.
std::string short_answer(const FrameworkPlace& place) {
  std::vector<std::string> ratios;
  std::set<std::string> devices;
  for (const FrameworkRows& rows : place.frameworks)
    if (rows.ratio.count > 0) devices.insert(devices_of_cell(*rows.several));
  if (devices.empty()) return "";
  for (const FrameworkRows& rows : place.frameworks)
    if (rows.ratio.count > 0)
      ratios.push_back(fmt::format("{} {}{}", with_range(rows.ratio), rows.is_own ? "here" : "in " + rows.title,
                                   devices.size() == 1 ? "" : fmt::format(" ({})", devices_of_cell(*rows.several))));
  return fmt::format("{} against one at {}: {}", devices.size() == 1 ? *devices.begin() : "several devices", place.title, fmt::join(ratios, ", "));
}

TextRow framework_line(const Comparison& comparison, const Cell& cell) {
  const Cell* base = cell.baseline ? &comparison.cells[*cell.baseline] : nullptr;
  TextRow line = {framework_title(*cell.done.front())};
  return with(with(line, identity(cell)),
              {in_two(with_range(cell.samples_per_second, rate_text)), in_two(with_range(cell.step_seconds, seconds_text)),
               base == nullptr ? "-" : in_two(with_range(cell.speed_up)), base == nullptr ? "-" : label_of(*base)});
}

std::string noise_text(const Coincidence& pair) {
  return fmt::format("noise explains up to {}{}", points_text(pair.worst.bound),
                     pair.has_seeds ? "" : ", by the size of the test set alone, because there is one repeat of each");
}

std::string coinciding_text(const std::vector<Coincidence>& pairs) {
  const auto largest = std::max_element(pairs.begin(), pairs.end(), [](const Coincidence& one, const Coincidence& other) {
    return std::abs(one.worst.difference) < std::abs(other.worst.difference);
  });
  const bool is_one = pairs.size() == 1;
  const std::string rows = fmt::format("{} of other frameworks learn{} as the row here that computes in the same way",
                                       is_one ? "One exact row" : fmt::format("{} exact rows", pairs.size()), is_one ? "s" : "");
  if (largest->worst.difference == 0) return rows + ": the accuracies are equal after every epoch";
  return fmt::format("{}: the accuracies coincide within noise after every epoch. The largest difference is {}, of {} after epoch {}, where {}", rows,
                     points_text(largest->worst.difference), title_of(*largest->one), largest->worst.epoch, noise_text(*largest));
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
  std::vector<std::string> texts;
  for (const FrameworkPlace& place : framework_places(comparison))
    if (std::string text = short_answer(place); !text.empty()) texts.push_back(std::move(text));
  if (texts.empty()) return "";
  constexpr std::size_t kShown = 2;
  const std::size_t more = texts.size() - std::min(kShown, texts.size());
  texts.resize(texts.size() - more);
  return fmt::format("By framework, {}{}", fmt::join(texts, "; "), more == 0 ? "" : fmt::format("; {} more in the report", more));
}

std::vector<std::string> coincidence_sentences(const Comparison& comparison) {
  std::vector<Coincidence> pairs = framework_coincidences(comparison), apart;
  std::copy_if(pairs.begin(), pairs.end(), std::back_inserter(apart), [](const Coincidence& pair) { return !pair.coincides(); });
  std::erase_if(pairs, [](const Coincidence& pair) { return !pair.coincides(); });
  std::vector<std::string> all;
  if (!pairs.empty()) all.push_back(coinciding_text(pairs));
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
  return cells.empty() ? "" : fmt::format("Left out because of their marks: {}", titles_of(cells));
}

std::vector<std::string> framework_sentences(const Comparison& comparison) {
  std::vector<std::string> all = framework_answers(comparison);
  for (std::string& sentence : coincidence_sentences(comparison)) all.push_back(std::move(sentence));
  if (std::string names = left_out_of_frameworks(comparison); !names.empty()) all.push_back(std::move(names));
  return all;
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
