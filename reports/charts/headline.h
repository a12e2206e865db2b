#pragma once

// What a chart shows, in a few words for its title. Of medians: whether rows differ significantly is said by the answer and the tables.

#include <string>

#include "reports/comparison.h"

namespace mgcompare {

// Empty if there is no such row. Only rows that can be ranked count.
std::string efficiency_headline(const Comparison& comparison);  // "81 % at best on 4 GPUs, by replicated"
std::string speed_up_headline(const Comparison& comparison);    // "3.24x at best, by replicated on 4 GPUs, batch 512"
std::string target_headline(const Comparison& comparison);      // "replicated on 4 GPUs, batch 512 is first, after 0.25 s"
std::string accuracy_headline(const Comparison& comparison);    // "0.9810 to 0.9840 after the last epoch"

}  // namespace mgcompare
