#pragma once

// Sequences of tokens that are drawn, not read. Each token has one that follows it in three of four cases, so that networks learn
// to predict the next one.

#include "data/dataset.h"

namespace mgcompare {

// Samples of this form, with `targets` equal to 1 or to the length. A sample depends only on the seed, its number, the length and
// the number of tokens. Throws DataError if the samples do not fit into memory.
Dataset draw_sequences(const SampleSpec& spec, std::size_t train_samples, std::size_t test_samples, std::uint64_t seed);

}  // namespace mgcompare
