#pragma once

// What a comparison says, in sentences: the same for the terminal and for the report. Texts are plain(): inert in a
// terminal, to be escaped for other formats.

#include <string>
#include <vector>

#include "reports/comparison.h"

namespace mgcompare {

// "2 CPU cores", "4 GPUs"
std::string devices_text(std::size_t count, DeviceKind kind);
// "replicated on 2 CPU cores, batch 128, variant big"
std::string title_of(const Cell& cell);
// "3.12 s [2.90 s .. 3.30 s]"; the median alone where there is one repeat, "-" where there is none.
std::string with_range(const Spread& spread, std::string (*text)(double));
// "1.92 [1.78 .. 2.05]"
std::string with_range(const Spread& spread);
// "0.9912", or for many models "0.9812, mean of 4 models".
std::string accuracy_of(const Cell& cell);

struct Finding {
  std::string text;
  int level = 0;                    // 1: belongs to the finding before it
};

// Whether several devices pay by the comparison's objective, against one device, and by what figures, or what it takes to
// know; empty where no trial was completed.
struct Answer {
  std::string verdict, grounds;
};
Answer answer(const Comparison& comparison);
// The best row by the comparison's objective, against the baseline and the runner-up, the cheapest that cannot be told
// apart from it, and why it is not better.
std::vector<Finding> ranking_findings(const Comparison& comparison);
// What to keep in mind.
std::vector<Finding> reservations(const Comparison& comparison);
// In place of curves and of a prediction, where there are none: what they take.
inline constexpr char kNoCurve[] =
    "There is no curve to draw: that takes rows on at least two different counts of devices, and the baseline on one. Add "
    "devices to `scaling.devices`, and a strategy that is the one-device baseline.";
inline constexpr char kNoPrediction[] =
    "There is nothing to predict from: that takes a strategy on several devices and the one-device baseline.";
// "Partial: 3 of 9 trials ...": what stands above everything while trials are missing; empty where none is.
std::string partial_text(const Comparison& comparison);
// All findings.
std::vector<Finding> findings(const Comparison& comparison);
// The row on several devices that is best by the objective (by samples/s: of the largest speed-up), trains one model, has a
// baseline, and reached the target where the objective goes by it; null where there is none.
const Cell* best_on_several(const Comparison& comparison);

// Trials that ended in any way but done, equal ones together; those that were never possible first, as one, so that the
// last line is what went wrong last.
struct Failure {
  std::string title;
  TrialStatus status = TrialStatus::failed;
  std::string cause;
  std::size_t repeats = 0;          // trials
  std::size_t more_rows = 0;        // beside the one of the title
  const Row* last = nullptr;
};
std::vector<Failure> failures(const Comparison& comparison);

}  // namespace mgcompare
