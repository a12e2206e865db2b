#pragma once

// Trainings of verify() of other sizes: a fault may need larger shares, or more steps, than the others have.

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "check/verify_scope.h"
#include "config/config.h"

namespace mgcompare {

// From the largest on.
using Sizes = std::set<std::size_t, std::greater<>>;
// At most `most` of them: the largest, the smallest if there is a second one, and some between.
std::vector<std::size_t> chosen(const Sizes& sizes, std::size_t most);

// Exact strategies are compared with one device in trainings of this size, too, on the first number of ranks.
struct VerifySize {
  std::string what;                 // ends the name of the check: "with shares of 64 samples"
  VerifyScope scope;
};

// Some with shares as large as those of a run of the config on several devices, unless the scope has such shares itself; one with epochs of one step; one
// with the config's own learning rates and number of epochs; and, the last one, one with many steps, also in each epoch. `samples`: those that the data
// set has.
std::vector<VerifySize> sizes_of(const VerifyScope& scope, const Config& config, std::size_t samples, bool quick);

}  // namespace mgcompare
