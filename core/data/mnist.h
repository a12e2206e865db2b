#pragma once

// MNIST, read from a folder or downloaded. The SHA-256 of all four uncompressed files is checked before use.

#include <string>
#include <vector>

#include "data/source.h"

namespace mgcompare {

// The default mirrors.
std::vector<std::string> mnist_mirrors();

// Reads the four files, plain or compressed by gzip, with their original names ("train-images-idx3-ubyte") or with a dot
// ("train-images.idx3-ubyte"). Throws DataError if one is missing or wrong.
Dataset read_mnist(const std::string& folder);

// Downloads the four files to `folder`, which is created if needed. A file appears under its name only after its checksum
// was verified. Throws DataError with the failure of each mirror.
void download_mnist(const std::string& folder, const Download& download);

extern const DataSourceEntry kMnist;

}  // namespace mgcompare
