#pragma once

// IDX files (arrays of bytes with a big-endian header), plain or compressed by gzip. Files are untrusted: for any content,
// reading returns an array or throws one DataError that names file and byte, and allocates no more memory than the file
// can contain.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace mgcompare {

struct IdxArray {
  std::vector<std::size_t> shape;
  std::vector<std::uint8_t> bytes;  // product of shape
  std::string sha256;               // of the whole uncompressed file with its header
};

// `dimensions`: those that the file must have; 0: from one to four.
IdxArray read_idx(const std::string& path, int dimensions);
// The header only: the array has no bytes and no checksum.
IdxArray read_idx_header(const std::string& path, int dimensions);

// Samples (count, ...) with their labels (count), each below `classes` (0: any). An image (height, width) is a sample
// {1, height, width}.
struct LabelledFiles {
  std::string samples;
  std::string labels;
};
struct LabelledSplit {
  Shape shape;                      // of one sample
  Split split;
  std::string samples_sha256;
  std::string labels_sha256;
};
LabelledSplit read_labelled(const LabelledFiles& files, std::size_t classes);

// The shape of one sample of an array of samples.
Shape sample_shape_of(const IdxArray& samples);

}  // namespace mgcompare
