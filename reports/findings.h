#pragma once

// The results of a comparison in sentences, for the terminal and the reports. Texts are plain(): safe for a terminal, to be
// escaped for other formats.

#include <string>
#include <vector>

#include "reports/comparison.h"
#include "reports/titles.h"

namespace mgcompare {

struct Finding {
  std::string text;
  int level = 0;                    // 1: detail of the finding before it
  bool is_title = false;            // the findings up to the next title are of this network
};

// The best row by the objective of the comparison, against the baseline and the runner-up; the row with the fewest devices
// that is not significantly worse; why the speed-up is not larger; what to do; the cheapest row, if a price is known; and how far
// copies of the baseline are from it.
std::vector<Finding> ranking_findings(const Comparison& comparison);
// "Why not 4x: 9.5 % of its time is ...", of the best row or the best one on several devices. Empty if it is not known, or hardly anything is lost.
std::string why_not_text(const Comparison& comparison);
// Of a row with an efficiency over 100 % by more than noise: the usual causes. Empty if there is none.
std::string above_ideal_text(const Comparison& comparison);
// Limitations of the results of a network.
std::vector<Finding> reservations(const Comparison& comparison);
// Shown in place of curves and predictions if there are none.
std::string no_curve(const Comparison& comparison);
std::string no_prediction(const Comparison& comparison);
// The answer, the ranking and the reservations.
std::vector<Finding> part_findings(const Comparison& comparison);

}  // namespace mgcompare
