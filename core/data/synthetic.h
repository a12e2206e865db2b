#pragma once

// Samples of any shape that are drawn, not read. Each class has a smooth random pattern; a sample is the pattern of its class with
// random contrast and noise, so that networks of all kinds learn the classes.

#include "data/source.h"

namespace mgcompare {

inline constexpr std::size_t kTestShare = 8;  // one test sample for so many training samples

// Bytes of this form. A sample's bytes depend only on the seed, its number, the shape and its class; classes occur in equal
// numbers. Throws DataError if the samples do not fit into memory.
Dataset draw_samples(const SampleSpec& spec, std::size_t train_samples, std::size_t test_samples, std::uint64_t seed);

extern const DataSourceEntry kSynthetic;

}  // namespace mgcompare
