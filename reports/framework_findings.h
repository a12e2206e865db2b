#pragma once

// The section "By framework" in sentences and tables (frameworks.h). Texts are plain(). All are empty unless the comparison has several
// frameworks.

#include <string>
#include <vector>

#include "reports/comparison.h"
#include "reports/tables.h"

namespace mgcompare {

// "In PyTorch 2.11.0, 2 GPUs are 1.90 [1.85 .. 1.93] times as fast as one at batch 128 (PyTorch DDP against PyTorch eager); here 0.90
// (replicated against serial), because a step on one device takes 74 us here and 380 us there": one sentence for each place and
// each framework besides the program itself.
std::vector<std::string> framework_answers(const Comparison& comparison);
// The same in short, for the summary; empty if there is nothing to say.
std::string framework_summary(const Comparison& comparison);
// Whether rows that compute in the same way learn alike: one sentence for those that do, one for those with too few repeats, and one for
// each pair that does not.
std::vector<std::string> coincidence_sentences(const Comparison& comparison);
// "Left out because of their marks: ...". Empty if none are.
std::string left_out_of_frameworks(const Comparison& comparison);
// All of these, without the summary.
std::vector<std::string> framework_sentences(const Comparison& comparison);

Table framework_answer_table(const Comparison& comparison);  // one line for each place and framework
Table mode_table(const Comparison& comparison);       // several devices against each row on one device; empty if no framework has two of these
Table framework_table(const Comparison& comparison);  // samples/s by framework and devices
Table like_table(const Comparison& comparison);       // ratios at equal strategies

}  // namespace mgcompare
