#pragma once

// The references that strategies are compared with. They are strategies themselves, so that they run the same training code.

#include "mgcompare/strategy.h"

namespace mgcompare {

// One rank that computes the gradient of each of `shares` shares of a batch and adds them in rank order. One share is plain
// training on the global batch.
std::unique_ptr<Strategy> make_reference(std::size_t shares);

// Wrong on purpose: divides the sum of the means of the shares by their number, which is not the mean of the batch if shares
// differ in size. A check that accepts it is broken.
std::unique_ptr<Strategy> make_planted();

}  // namespace mgcompare
