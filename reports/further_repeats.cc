#include "reports/further_repeats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "mgcompare/random.h"
#include "reports/answer.h"
#include "reports/comparison_text.h"
#include "reports/machine_doubt.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

constexpr double kPower = 0.8;
constexpr int kDraws = 400;
constexpr std::uint64_t kStream = 0x72657065;
constexpr std::size_t kMost = 1000;  // more is no plan

struct Normal {
  double mean = 0, deviation = 0;
};

Normal normal_of(const Spread& spread) {
  const auto count = static_cast<double>(spread.values.size());
  Normal normal;
  normal.mean = std::accumulate(spread.values.begin(), spread.values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : spread.values) squares += (value - normal.mean) * (value - normal.mean);
  normal.deviation = std::sqrt(squares / (count - 1));
  return normal;
}

double below(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

// The inverse of below(), by bisection.
double quantile(double share) {
  double low = -10, high = 10;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (below(middle) < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

// How often so many repeats of both rows would be decided.
double chance_to_decide(const Normal& one, const Normal& other, std::size_t repeats) {
  const Random random(repeats, kStream);
  std::uint64_t draw = 0;
  const auto sample = [&](const Normal& normal) {
    std::vector<double> values(repeats);
    for (double& value : values) value = normal.mean + normal.deviation * random.normal(draw++);
    return spread_of(std::move(values));
  };
  int decided = 0;
  for (int i = 0; i < kDraws; ++i) decided += compare(sample(one), sample(other)) == Order::undecided ? 0 : 1;
  return static_cast<double>(decided) / kDraws;
}

// For the rank test, by Noether's formula.
std::size_t tested_repeats(const Normal& one, const Normal& other, std::size_t pairs) {
  const double both = std::hypot(one.deviation, other.deviation);
  const double advantage = (both > 0 ? below(std::abs(one.mean - other.mean) / both) : 1) - 0.5;
  const double z = quantile(1 - kSignificance / static_cast<double>(std::max<std::size_t>(1, pairs)) / 2) + quantile(kPower);
  const double repeats = advantage > 0 ? std::ceil(z * z / (6 * advantage * advantage)) : kMost;
  return std::max(kTestedRepeats, repeats < kMost ? static_cast<std::size_t>(repeats) : kMost);
}

// For the interval of a ratio.
std::size_t interval_repeats(const Spread& factor) {
  if (factor.values.size() < 2 || !(factor.least > 0)) return 0;
  std::vector<double> logarithms;
  for (const double value : factor.values) logarithms.push_back(std::log(value));
  const Normal normal = normal_of(spread_of(std::move(logarithms)));
  const double z = quantile(0.975) + quantile(kPower), distance = normal.deviation / normal.mean;
  const double repeats = normal.mean == 0 ? kMost : std::ceil(std::numbers::pi / 2 * z * z * distance * distance);
  return repeats < kMost ? static_cast<std::size_t>(repeats) : kMost;
}

}  // namespace

FurtherRepeats further_repeats(const Spread& one, const Spread& other, std::size_t pairs, const Spread& factor) {
  using State = FurtherRepeats::State;
  const std::size_t known = std::min(one.values.size(), other.values.size());
  const auto up_to = [&](std::size_t count) { return count > known ? count - known : 0; };
  if (known < 2) return {State::unknown, up_to(kDecisiveRepeats)};
  if (differs_by_noise(one, other)) return {State::close, up_to(kTestedRepeats)};
  const Normal mine = normal_of(one), its = normal_of(other);
  for (std::size_t count = std::max(known + 1, kDecisiveRepeats); count < kTestedRepeats; ++count)
    if (chance_to_decide(mine, its, count) >= kPower) return {State::estimated, up_to(count)};
  // The formula assumes that the repeats so far are what the next ones will be. If they did not decide, at least one more is needed.
  const std::size_t tested = std::max(tested_repeats(mine, its, pairs), interval_repeats(factor));
  return {State::estimated, tested >= kMost ? kMost : std::max<std::size_t>(1, up_to(tested))};
}

FurtherRepeats further_repeats(const Comparison& comparison) {
  const std::optional<Contest> rows = contest(comparison);
  if (!rows || !rows->is_open()) return {};
  const Criterion by = criterion(comparison);
  return further_repeats(rows->several->*by.of_cell, rows->one->*by.of_cell, rows->pairs, factor_over(comparison, *rows->several, *rows->one));
}

std::string further_repeats_text(const Comparison& comparison) {
  const FurtherRepeats further = further_repeats(comparison);
  const std::string count = fmt::format("{} more repeat{}", further.more, further.more == 1 ? "" : "s");
  switch (further.state) {
    case FurtherRepeats::State::none: return "";
    case FurtherRepeats::State::unknown:
      return fmt::format("At least {} of each row {} needed to decide; how many would do is not known, because one figure shows no spread", count,
                         further.more == 1 ? "is" : "are");
    case FurtherRepeats::State::estimated:
      if (further.more >= kMost) return fmt::format("Even {} more repeats of each row would hardly decide, by the spread of these", kMost);
      return fmt::format("About {} of each row would decide, estimated from the spread of these", count);
    case FurtherRepeats::State::close:
      return further.more == 0 ? "More repeats are not expected to decide: the difference is too small to matter"
                               : fmt::format("{} of each row would show whether the difference stays that small", count);
  }
  return "";
}

std::string further_repeats_below_answer(const Comparison& comparison) {
  const std::optional<Contest> rows = contest(comparison);
  const bool has_one = rows && std::min(rows->several->done.size(), rows->one->done.size()) == 1;
  // They do not correct for a machine that other programs used or whose speed changed.
  const bool is_doubtful = rows && !machine_doubt(comparison, *rows).empty();
  return has_one || is_doubtful ? "" : further_repeats_text(comparison);
}

namespace {

// What an answer needs instead of repeats; empty if it is decided.
std::string instead_of_repeats(const Comparison& comparison) {
  const std::optional<Contest> rows = contest(comparison);
  if (!rows) {
    const Answer found = answer(comparison);
    return found.verdict.empty() ? "no trial was completed" : fmt::format("they would not change the answer ({}: {})", found.verdict, found.grounds);
  }
  if (rows->is_by_machine) return fmt::format("measure again while nothing else uses the machine, because {}", machine_doubt(comparison, *rows));
  if (rows->is_contradictory) return fmt::format("they are not expected to decide, because {}", rows->doubt);
  return further_repeats_text(comparison);
}

}  // namespace

std::string no_repeats_text(const Overview& overview) {
  std::string text;
  for (const Comparison& part : overview.parts) {
    const std::string needed = instead_of_repeats(part), title = overview.title_of(part);
    if (!needed.empty()) text += fmt::format("{}{}{}", text.empty() ? "" : "\n", title.empty() ? "" : title + ": ", needed);
  }
  return !text.empty() ? text : overview.parts.size() == 1 ? "the answer is decided" : "all answers are decided";
}

bool needs_repeats(const Overview& overview) {
  return std::any_of(overview.parts.begin(), overview.parts.end(), [](const Comparison& part) {
    const std::size_t more = further_repeats(part).more;
    return more > 0 && more < kMost;
  });
}

}  // namespace mgcompare
