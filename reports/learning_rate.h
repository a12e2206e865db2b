#pragma once

// The learning rate of a row, and the rules that made it.

#include <string>

#include "results/results_store.h"

namespace mgcompare {

// After the batch rule and the warm-up, before the schedule lowers it.
double learning_rate_of(const Row& row);
// "linear from 0.05 at batch 128, warm-up of 2 epochs, cosine to 0"; "constant".
std::string rate_rule_of(const Row& row);
// Samples of each rank's share, rounded up.
std::size_t batch_per_device(const TrialKey& trial);

}  // namespace mgcompare
