#pragma once

// What a network reads and predicts: the shape of one sample and of its targets. A data set defines it.

#include <cstddef>

#include "mgcompare/batch.h"

namespace mgcompare {

// Type of one stored value. Networks read all of them as float.
enum class ElementType { uint8, float32, int32, int64 };

constexpr std::size_t size_of(ElementType type) {
  return type == ElementType::uint8 ? 1 : type == ElementType::int64 ? 8 : 4;
}

struct SampleSpec {
  Shape shape;                      // {channels, height, width}, {time, features}, {features}; {time} for tokens
  ElementType element = ElementType::uint8;
  std::size_t classes = 0;          // targets are 0 .. classes - 1
  std::size_t targets = 1;          // per sample: 1, or one for each position of a sequence
  std::size_t tokens = 0;           // sample values are integers 0 .. tokens - 1; 0: they are numbers, or this is not known

  // The output that a network needs: {classes}, or {targets, classes} for sequences.
  Shape output() const { return targets == 1 ? Shape{classes} : Shape{targets, classes}; }
};

// What is known of a data set before it is loaded.
struct DataSummary {
  SampleSpec spec;
  std::size_t train_samples = 0;    // of the whole set, before the config's limits
  std::size_t test_samples = 0;     // 0: evaluation needs validation samples
};

}  // namespace mgcompare
