#pragma once

// IDX files (bytes in some dimensions, big-endian header), packed by gzip or not. A file is data from anywhere:
// whatever is in it, reading ends in an array or in one DataError that names the file and the byte, and takes no more
// memory than the file itself can hold.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "mgcompare/error.h"

namespace mgcompare {

// The data cannot be had, or is not what it should be: the environment's fault, not the experiment's.
class DataError : public Error {
 public:
  using Error::Error;
};

struct IdxArray {
  std::vector<std::size_t> shape;
  std::vector<std::uint8_t> bytes;  // as many as the product of shape
  std::string sha256;               // of the whole file, unpacked, header included
};

// Larger arrays are refused by their header; the largest file of MNIST has 47 million values.
inline constexpr std::size_t kMostIdxBytes = 64u << 20;

// `dimensions` is 3 for images and 1 for labels; a file of another kind is refused.
IdxArray read_idx(const std::string& path, int dimensions, std::size_t most_bytes = kMostIdxBytes);

// Images (samples, height, width) with their labels (samples), each below `classes`. A sample has the shape
// {1, height, width}.
struct LabelledFiles {
  std::string images;
  std::string labels;
};
struct LabelledSplit {
  Split split;
  std::string images_sha256;
  std::string labels_sha256;
};
LabelledSplit read_labelled(const LabelledFiles& files, std::size_t classes);

}  // namespace mgcompare
