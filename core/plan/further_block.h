#pragma once

// Repeats beyond the seeds of the config. They are added while a run goes on, so the plan does not know how many there will be.

#include <vector>

#include "plan/plan.h"

namespace mgcompare {

// Block number `block`, above the number of seeds: every row of the plan once, in random order, with a seed that no other block has:
// the smallest ones from 1 that the config does not list. The trials depend on the plan and on `block` only, and their numbers
// are behind all that a plan or a part of it can have, so that a resumed run finds them again.
std::vector<Trial> further_block(const Plan& plan, int block);

}  // namespace mgcompare
