#pragma once

// Extra runs of the one-device baseline at the beginning, the end and in between. Their speeds show whether the machine
// changed during the run. They do not count for the baseline's row, because their positions are not randomised and the
// first one may find a cold machine. Results call such a run a bracket.

#include <vector>

#include "plan/trial.h"

namespace mgcompare {

// Number of brackets by `measure.level`: quick: 2, at the beginning and the end; normal: 3, also in the middle; thorough: one
// before each block and one at the end.
int bracket_count(const Config& config);

// Inserts brackets evenly from the first to the last trial. `brackets` are in order, those of one position (one per network
// and kind of device) adjacent. At most a quarter as many brackets as trials, at two positions or more; where that is too few for
// all rows, the first ones only; otherwise none. None either if
// the trials are only repeats of the bracketed rows, and none of a row without a trial.
std::vector<Trial> with_brackets(const std::vector<Trial>& trials, std::vector<Trial> brackets);

}  // namespace mgcompare
