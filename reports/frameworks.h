#pragma once

// Several frameworks in one comparison: whether several devices pay in each, and rows that compute in the same way against each
// other. The program itself counts as a framework. Rows that are disqualified by a mark are in none of it.

#include <string>
#include <vector>

#include "reports/coincidence.h"
#include "reports/comparison.h"

namespace mgcompare {

// The rows of one framework at one place: rows with the same kind of device, scaling, batch and variant.
struct FrameworkRows {
  std::string name;                 // "PyTorch"
  std::string title;                // "PyTorch 2.11.0"
  bool is_own = false;
  const Cell* one = nullptr;        // its baseline on one device (Cell::baseline)
  const Cell* several = nullptr;    // the one with the most samples/s on several devices; null: there is none
  // samples/s of `several` / those of `one`, by seed if both have the seed: its speed-up.
  Spread ratio;
};

struct FrameworkPlace {
  std::string title;                // "batch 128", "batch 64 per device, small rate"
  std::vector<const Cell*> cells;   // with results and one rank per device, not disqualified
  std::vector<FrameworkRows> frameworks;  // the program itself first, the others in the order of their rows
};
// None unless the comparison has several frameworks; places with one framework only are left out.
std::vector<FrameworkPlace> framework_places(const Comparison& comparison);

// A row of another framework against one of the program's own rows that compute in the same way (like_of()) at the same place, on
// as many devices.
struct LikePair {
  const Cell* cell = nullptr;
  const Cell* own = nullptr;
  Spread ratio;                     // samples/s of `cell` / those of `own`, by seed if both have the seed
  Order order = Order::undecided;   // of the samples/s of `cell`; the tests are corrected for the number of pairs of the comparison
};
std::vector<LikePair> like_pairs(const Comparison& comparison);
// "faster", "slower" or "undecided"
const char* order_text(Order order);

// Why the ratios of two frameworks differ. T and U are the median steps on one device, r and q the ratios on n devices. A step on n
// devices takes T / r: that is its share T / n and a cost of c = T / r - T / n. With the same cost, steps of U would have the ratio
// e = U / (U / n + c).
enum class StepReason {
  unknown,                          // not both have rows on the same number of devices
  undecided,                        // the ratios do not differ (compare())
  by_step,                          // the length of the step explains the difference: e - r is 0.5 to 1.5 times q - r
  not_by_step
};
struct StepEffect {
  StepReason reason = StepReason::unknown;
  double estimate = 0;              // e; NaN if the cost is negative and larger than the share
  double own_cost = 0, other_cost = 0;  // seconds
};
StepEffect step_effect(const FrameworkRows& own, const FrameworkRows& other);

// Each of the pairs, also of rows that were too short to measure: whether they learn alike. The repeats of rows that are not exact are
// independent, although they have the same seeds: dropout masks differ.
std::vector<Coincidence> framework_coincidences(const Comparison& comparison);

}  // namespace mgcompare
