#pragma once

// IDX files (arrays of bytes with a big-endian header), plain or compressed by gzip. Files are untrusted: for any content,
// reading returns an array or throws one DataError that names file and byte, and allocates no more memory than the file
// can contain.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "mgcompare/error.h"

namespace mgcompare {

// Data is missing or invalid: a problem of the environment, not of the config.
class DataError : public Error {
 public:
  using Error::Error;
};

struct IdxArray {
  std::vector<std::size_t> shape;
  std::vector<std::uint8_t> bytes;  // product of shape
  std::string sha256;               // of the whole uncompressed file with its header
};

// Limit for the size that a header may state. The largest file of MNIST has 47 million values.
inline constexpr std::size_t kMaxIdxBytes = 64u << 20;

// `dimensions` is 3 for images and 1 for labels; other files are refused.
IdxArray read_idx(const std::string& path, int dimensions, std::size_t max_bytes = kMaxIdxBytes);

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
