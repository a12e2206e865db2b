#pragma once

// Synthetic handwritten digits in the shapes of MNIST, for machines with neither MNIST nor network access. Results on them
// are marked.

#include <cstdint>

#include "data/source.h"

namespace mgcompare {

// 60,000 and 10,000 samples of {1, 28, 28}, ten classes in equal numbers. A sample's bytes depend only on the seed and
// its index.
Dataset draw_digits(std::uint64_t seed, std::size_t train_samples = 60'000, std::size_t test_samples = 10'000);

extern const DataSourceEntry kDigits;

}  // namespace mgcompare
