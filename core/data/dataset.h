#pragma once

// Labelled samples in host memory, as bytes.

#include <cstdint>
#include <string>
#include <vector>

#include "mgcompare/batch.h"

namespace mgcompare {

struct Split {
  Shape sample_shape;               // {1, 28, 28}
  std::size_t samples = 0;
  std::vector<std::uint8_t> bytes;  // samples x the product of sample_shape
  std::vector<std::uint8_t> labels;
};

struct Dataset {
  std::string name;                 // "mnist", "digits"
  std::string origin;               // a folder, "downloaded", "drawn with seed 1"
  std::string fingerprint;          // SHA-256 over both splits: a run is only resumed with the same data
  std::size_t classes = 10;
  Split train;
  Split test;
};

}  // namespace mgcompare
