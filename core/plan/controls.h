#pragma once

// Extra runs that check exact rows (reports/promise.h). They are in no other figure.
//
// Controls: the one-device baseline once more, with the samples of each batch in reverse order. Only the order of summation
// differs, so the distance of a control from the baseline shows how far rounding alone moves the weights in an experiment.
// References: the program's own training on one device, where the plan has no baseline at a row's global batch: on several
// devices in weak scaling, and in a plan without a baseline. Its control is a reference, too.

#include <set>
#include <string>
#include <vector>

#include "mgcompare/strategy.h"
#include "plan/trial.h"

namespace mgcompare {

// Whether the strategy is the baseline of other rows: only on one rank.
bool is_baseline(const Traits& traits, const TrialKey& trial);

// Whether the strategy promises the baseline's weights after each epoch: exact, one model, and not the baseline itself.
// Local batch normalisation breaks the promise on several ranks, whatever the strategy does.
bool promises_baseline(const Traits& traits, const TrialKey& trial, const Config& config);

// The name of what a row, its baseline and their control have in common besides the seed: network, kind of device, global
// batch and variant.
std::string control_group(const TrialKey& trial);

// The rows of a plan that take part in checks, by row_name().
struct CheckedRows {
  std::set<std::string> baselines;  // see is_baseline()
  std::set<std::string> exact;      // see promises_baseline()
};

// One control for each control group with a trial that promises the baseline's weights, of the first block in which there is
// one; with a reference if that block has no baseline of the group. `trials` are those of blocks. Each has the number of
// the trial from which it is made, for the caller to replace. First the controls of baselines, then references, each with its control.
std::vector<Trial> extra_checks(std::vector<Trial> trials, const CheckedRows& rows);

}  // namespace mgcompare
