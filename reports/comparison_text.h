#pragma once

// Phrases about the rows of a comparison, by its objective.

#include <string>

#include "reports/comparison.h"

namespace mgcompare {

// Whether the figure that counts ends at the target accuracy.
bool goes_by_target(const Comparison& comparison);
// Whether there is a target, and no row of the ranking reached it.
bool misses_target(const Comparison& comparison);
// The figure used instead if the objective needs a target that no row reached. Empty: it needs none, or one reached it.
std::string instead_of_target(const Comparison& comparison);
// The factor by which a row is faster than another, or by which it costs more.
Spread factor_over(const Comparison& comparison, const Cell& cell, const Cell& other);
// "1.92 [1.78 .. 2.05] times as fast to 97 % as X", by cost "0.52 [0.49 .. 0.56] times the device-seconds to 97 % of X";
// `until` is "to 97 % " or empty.
std::string against(const Comparison& comparison, const Cell& cell, const Cell& other, const std::string& until = "");
// ", in 2 of 3 repeats"; empty if all repeats reached the target.
std::string some_repeats(const Cell& cell);
// Why a row has no baseline although there is one: "the one-device baseline, serial on ..., was too short to measure; ...". Empty
// if that is not the reason.
std::string short_baseline_text(const Comparison& comparison, const Cell& cell);
// The same for any row on several devices.
std::string short_baseline_text(const Comparison& comparison);
// With the warning that nothing showed that it computes what it says.
std::string winner_title(const Cell& cell);

}  // namespace mgcompare
