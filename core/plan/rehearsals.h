#pragma once

// Rehearsals: one device trains for two epochs as one rank of N would, with its share of each batch and the strategy's own calls, but its exchanges take
// no time, because there are no other ranks. Together with the time of these exchanges on a link, this predicts the step on N devices, also on
// a machine that has fewer (reports/rehearsed_step.h). They are in no other figure. The first rank and the last are rehearsed: one of them may update
// more parameters than the other, or collect what the others send, and the rest wait for it.

#include <cstddef>
#include <vector>

#include "config/config.h"
#include "mgcompare/strategy.h"
#include "plan/listed_devices.h"
#include "plan/trial.h"

namespace mgcompare {

// Whether the config asks for them.
bool has_rehearsals(const Config& config);

// The numbers of devices of a kind to rehearse: the listed ones above one, also if the machine has fewer, and two, four and eight times the largest
// that has rows.
std::vector<std::size_t> rehearsed_counts(const std::vector<ListedDevices>& devices, DeviceKind kind);

// Whether a row with these traits can be rehearsed: a contender in lockstep, because there is no pace without other ranks, on one host with one
// rank for each device, each of which has a sample of a batch; without objects that all ranks share, and without a stage that begins
// behind the first epoch, which a rehearsal does not reach.
bool can_be_rehearsed(const Traits& traits, const TrialKey& trial, std::size_t steps_per_epoch);

// The rehearsals of a row.
std::vector<Trial> rehearsal_trials(Trial trial);

}  // namespace mgcompare
