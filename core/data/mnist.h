#pragma once

// MNIST, read from a folder or downloaded. The SHA-256 of all four uncompressed files is checked before use.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace mgcompare {

// Bytes of all files of the set; total is 0 while unknown.
struct DownloadProgress {
  std::string file;
  std::string from;
  std::size_t bytes = 0;
  std::size_t total = 0;
};

struct Download {
  // URLs of folders, tried in order; https only, also for redirects.
  std::vector<std::string> mirrors;
  // Limit for the total wait for mirrors that do not respond; time in which data arrives does not count.
  std::chrono::milliseconds timeout{24'000};
  std::string authorities;          // file of trusted certificates; empty: the system's
  std::function<void(const DownloadProgress&)> progress;  // on the calling thread, a few times a second; may be empty
};

// The default mirrors.
std::vector<std::string> mnist_mirrors();

// Whether the folder has at least one file with a name of MNIST.
bool has_mnist(const std::string& folder);

// Reads the four files, plain or compressed by gzip, with their original names ("train-images-idx3-ubyte") or with a dot
// ("train-images.idx3-ubyte"). Throws DataError if one is missing or wrong.
Dataset read_mnist(const std::string& folder);

// Downloads the four files to `folder`, which is created if needed. A file appears under its name only after its checksum
// was verified. Throws DataError with the failure of each mirror.
void download_mnist(const std::string& folder, const Download& download);

}  // namespace mgcompare
