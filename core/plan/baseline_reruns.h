#pragma once

// Runs of the one-device baseline beside the blocks: at the beginning of a run, at its end, and between. What it does then
// tells whether the machine stayed the same while everything else ran. They are in no figure of the baseline's row: the
// first of them meets a machine as it was found, cold or still cooling down, and none has a random place.

#include <vector>

#include "plan/trial.h"

namespace mgcompare {

// How many there are for a config's `measure.level` and count of blocks: quick, at the beginning and at the end; normal,
// in the middle too; thorough, before each block and at the end.
int bracket_count(const Config& config);

// The trials with the brackets among them, evenly from the first to the last; `brackets` are in order, all kinds of device
// of one place together. No more than a quarter of the trials, as they are not what was asked for; one place alone would
// bracket nothing. None where nothing but their own rows is left to bracket, and none of a row that is not among the trials.
std::vector<Trial> with_brackets(const std::vector<Trial>& trials, std::vector<Trial> brackets);

}  // namespace mgcompare
