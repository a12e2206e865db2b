#pragma once

// The fewest bytes that the ranks of an exact strategy with one model can send, to find exchanges that go around the counted
// calls.
//
// Each sample of a batch is trained on one rank, so the update needs what every other rank learned from its samples: at least
// what the ranks learned that are not the one with most samples. Strategies may send gradients, updated parameters, or
// anything from which the gradient follows, such as factors of it or activations, compressed without loss. However it is
// written, the gradient of n samples is a sum of n independent vectors, unless n is larger than the number of parameters: it
// has min(parameters, n) degrees of freedom at least, one number each. Two bytes are the smallest number that programs
// exchange. So over all ranks, a step with global batch B of which the largest share has S samples sends at least
//   2 min(parameters, B - S) bytes.
// Gradients of LeNet are thousands of times as long. The bound is not meant to find an exchange that sends too little, but one
// that is not there.

#include <cstddef>

namespace mgcompare {

// Sent by all ranks in one step.
std::size_t least_bytes_of_step(std::size_t parameters, std::size_t global_batch, std::size_t ranks);

// Sent by a rank per step, mean over ranks and over the steps of an epoch of `samples` samples in lockstep.
double least_bytes_per_step(std::size_t parameters, std::size_t samples, std::size_t global_batch, std::size_t ranks);

}  // namespace mgcompare
