#pragma once

// CIFAR-10 in its binary version (Krizhevsky, "Learning multiple layers of features from tiny images", 2009): records of one
// label and 3 x 32 x 32 bytes, in five training files and one test file, plain or compressed by gzip.

#include <string>

#include "data/source.h"

namespace mgcompare {

// Reads the six files of a folder. Files with a valid structure but other checksums than the published ones are used, and
// the origin says so. Throws DataError.
Dataset read_cifar10(const std::string& folder);

// Downloads the published archive, checks its SHA-256, and unpacks the six files into `folder`, which is created if needed.
void download_cifar10(const std::string& folder, const Download& download);

// Writes the six files of a tar archive, compressed by gzip, into `folder`. Throws DataError if one is missing.
void unpack_cifar10(const std::string& path, const std::string& folder);

// One file of records. Throws DataError for a size that is no multiple of a record, and for a label over 9.
struct Cifar10Records {
  std::vector<std::uint8_t> images;
  std::vector<std::uint32_t> labels;
  std::string sha256;               // of the unpacked file
};
Cifar10Records read_cifar10_file(const std::string& path);

extern const DataSourceEntry kCifar10;

}  // namespace mgcompare
