#pragma once

// Rows -> trials in their order of execution.

#include <cstddef>
#include <vector>

#include "plan/controls.h"
#include "plan/trial.h"

namespace mgcompare {

struct PlannedRow {
  Trial trial;                      // without number, block and seed
  bool baseline = false;            // a baseline on one device that can run
};

// Randomised complete blocks: one block per seed of the config, with every row once, shuffled by the first seed. Baseline
// re-runs (baseline_reruns.h) are placed between the trials, and checks (controls.h) after the first block, whose rows they check, so that
// a run that is interrupted later has them. `rehearsals` (rehearsals.h) follow each of
// the first three blocks.
std::vector<Trial> ordered_trials(const Config& config, const std::vector<PlannedRow>& rows, const CheckedRows& checked,
                                  const std::vector<Trial>& rehearsals = {});

// Shuffles a further block (further_block.h) by the first seed and the block's number.
void shuffle_block(const Config& config, int block, std::vector<Trial>& trials);

}  // namespace mgcompare
