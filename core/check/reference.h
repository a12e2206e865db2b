#pragma once

// What strategies are held against: one rank, written as strategies themselves so that they run on the same path.

#include "mgcompare/strategy.h"

namespace mgcompare {

// One rank that computes the gradient of each of `shares` shares of a batch by itself and adds them in rank order. One
// share is plain training on the global batch.
std::unique_ptr<Strategy> make_reference(std::size_t shares);

// Wrong on purpose: adds the means of the ranks' own shares and divides by their number, which is not the batch's mean
// where shares differ. A check that passes this checks nothing.
std::unique_ptr<Strategy> make_planted();

}  // namespace mgcompare
