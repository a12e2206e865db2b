#pragma once

// Controls: extra runs of the one-device baseline in which each batch has its samples in reverse order. Only the order of
// summation differs, so the distance of a control from the baseline shows how far rounding alone moves the weights in an
// experiment. Reports compare exact rows with the baseline by it (reports/promise.h). Controls are in no other figure.

#include <string>
#include <vector>

#include "mgcompare/strategy.h"
#include "plan/trial.h"

namespace mgcompare {

// Whether the strategy promises the baseline's weights after each epoch: exact, in lockstep, one model, and not the baseline
// itself. Local batch normalisation breaks the promise on several ranks, whatever the strategy does.
bool promises_baseline(const Traits& traits, const TrialKey& trial, const Config& config);

// The name of what a row, its baseline and their control have in common besides the seed: kind of device, global batch and
// variant.
std::string control_group(const TrialKey& trial);

// The controls that trials of a filtered plan need: those with a baseline of their seed, and with another row in `promising`,
// the groups of the rows that promise the baseline's weights.
std::vector<Trial> needed_controls(const std::vector<Trial>& trials, std::vector<Trial> controls,
                                   const std::vector<std::string>& promising);

}  // namespace mgcompare
