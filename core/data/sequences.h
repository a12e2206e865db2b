#pragma once

// Samples from sequences of tokens: the first `length` tokens are the input, and the target is the token after the last one,
// or, for each position, the token after it.

#include <cstdint>
#include <span>

#include "config/config.h"
#include "data/dataset.h"

namespace mgcompare {

struct SequenceForm {
  std::size_t length = 0;
  bool every_position = false;

  SampleSpec spec(std::size_t tokens) const;
  // Where the largest of these tokens is. `path` is their file.
  FoundInteger largest(std::span<const std::int32_t> tokens, std::size_t stride, const std::string& path) const;
  // A sample begins at every `stride`-th token and has length + 1 tokens.
  Split split(std::span<const std::int32_t> tokens, std::size_t stride) const;
};

// The form that the config gives; its length may be 0. By default the target of `tokens` is the last one, of `text` each next one.
SequenceForm sequence_form(const DataConfig& config);

// Throws DataError if the config names a file for validation that is not there. Not DataMissing: no fallback takes the place of a
// set that is there in part.
void expect_validation(const DataConfig& config);

}  // namespace mgcompare
