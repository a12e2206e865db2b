#pragma once

// Handwritten-like digits in MNIST's shapes, drawn by strokes: for machines that have neither MNIST nor a network. They
// are not MNIST, and results on them say so.

#include <cstdint>

#include "data/dataset.h"

namespace mgcompare {

// 60,000 and 10,000 samples of {1, 28, 28}, ten classes in equal numbers. The bytes depend on the seed only; no sample
// depends on how many there are.
Dataset draw_digits(std::uint64_t seed, std::size_t train_samples = 60'000, std::size_t test_samples = 10'000);

}  // namespace mgcompare
