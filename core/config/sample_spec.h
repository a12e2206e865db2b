#pragma once

// What a network reads and predicts: the shape of one sample and of its targets. A data set defines it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "mgcompare/batch.h"

namespace mgcompare {

// Type of one stored value. Networks read all of them as float.
enum class ElementType { uint8, float32, int32, int64 };

constexpr std::size_t size_of(ElementType type) {
  return type == ElementType::uint8 ? 1 : type == ElementType::int64 ? 8 : 4;
}

// The name in NumPy: "float32".
std::string_view name_of(ElementType type);

// One integer of the samples, and where it is: "sample 12 of data/x.npy"; empty: not known.
struct FoundInteger {
  std::int64_t value = 0;
  std::string place;
};

struct SampleSpec {
  Shape shape;                      // {channels, height, width}, {time, features}, {features}; {time} for tokens
  ElementType element = ElementType::uint8;
  std::size_t classes = 0;          // targets are 0 .. classes - 1
  std::size_t targets = 1;          // per sample: 1, or one for each position of a sequence
  std::size_t tokens = 0;           // sample values are integers 0 .. tokens - 1; 0: they are numbers, or this is not known
  FoundInteger smallest, largest;   // of samples that may be tokens

  // The output that a network needs: {classes}, or {targets, classes} for sequences.
  Shape output() const { return targets == 1 ? Shape{classes} : Shape{targets, classes}; }
};

// "7 classes", "1 class"
std::string classes_text(std::size_t classes);

// "5 x 11 x 13 float32, 7 classes"; with a target at each position "20 int32, 7 classes at each of 20 positions".
std::string form_text(const SampleSpec& spec);

// A warning if the samples look like images whose channels are the last axis; otherwise empty.
std::string channels_last_warning(const SampleSpec& spec);

// How samples with two axes are read, a sentence without its end; empty for others.
std::string time_axis_remark(const SampleSpec& spec);

// What is known of a data set before it is loaded.
struct DataSummary {
  SampleSpec spec;
  std::size_t train_samples = 0;    // of the whole set, before the config's limits
  std::size_t test_samples = 0;     // 0: evaluation needs validation samples
  std::string place = {};           // its folder or file; empty: it is drawn, also in place of a missing set, or would be downloaded
};

}  // namespace mgcompare
