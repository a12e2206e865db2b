#pragma once

// What a chart shows, in a few words for its title. Of medians: whether rows differ significantly is said by the answer and the tables.

#include <string>

#include "reports/charts/series.h"
#include "reports/comparison.h"

namespace mgcompare {

// Empty if there is no such row. Only rows that can be ranked count; with `panel`, only those in it.
std::string efficiency_headline(const Comparison& comparison, const Panel* panel = nullptr);  // "81 % at best on 4 GPUs, by replicated"
std::string speed_up_headline(const Comparison& comparison, const Panel* panel = nullptr);    // "3.24x at best, by replicated on 4 GPUs, batch 512"
std::string answer_headline(const Comparison& comparison);      // of the row of the answer: "3.24x by replicated on 4 GPUs"
std::string rate_headline(const Comparison& comparison);        // "31,000 samples/s at most, by replicated on 4 GPUs, batch 512"
std::string target_headline(const Comparison& comparison);      // "replicated on 4 GPUs, batch 512 is first, after 0.25 s"
std::string accuracy_headline(const Comparison& comparison);    // "0.9810 to 0.9840 after the last epoch"
std::string most_accurate_headline(const Comparison& comparison);  // "0.9840 at best, by replicated on 4 GPUs, batch 512"
std::string batch_headline(const Comparison& comparison);       // "at best 0.9840 at batch 64, 0.9810 at batch 512"
std::string parts_headline(const Comparison& comparison);       // "compute takes 61 % and exchange 25 % of replicated on 4 GPUs, batch 512"
std::string bytes_headline(const Comparison& comparison);       // "from 0.1 MB by onebit to 3.4 MB by tower"

}  // namespace mgcompare
