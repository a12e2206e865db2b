#pragma once

// What rows cost, where the price of a device is known: price per hour * devices * hours of training. The training counts until the
// target accuracy; where no row reached it, or there is none, the whole training. Set-up, warm-up and evaluation are in no cost. The
// price is in any currency, so costs have no unit.

#include <string>
#include <vector>

#include "reports/comparison.h"
#include "reports/tables.h"

namespace mgcompare {

// That of the run's config; 0: none.
double price_of(const Run& run);

// Of one repeat: of its whole training, and until its target; nan without a price, or if the target was not reached.
double cost_of_training(const Row& row, double price_per_device_hour);
double cost_to_target(const Row& row, double price_per_device_hour);

// Over the repeats of a row; no figure without a price.
Spread cost_of(const Comparison& comparison, const Cell& cell);
// "0.000143", "12.3", "1,235"; also of device-seconds.
std::string cost_text(double cost);
// "to 97 %", or "of the training".
std::string cost_scope(const Comparison& comparison);

// The rows that may be the cheapest: ranked like device-seconds, those whose interval overlaps that of the first. The one to choose
// comes first: the fewest devices, then the lowest median. Empty without a price or ranked rows.
std::vector<const Cell*> cheapest_rows(const Comparison& comparison);
// A sentence about it; empty if there is none.
std::string cost_sentence(const Comparison& comparison);
// Without lines if there is no price.
Table cost_table(const Comparison& comparison);

}  // namespace mgcompare
