#pragma once

// MNIST: found in a folder, or downloaded into one, and never used before its four files are checked, unpacked, against
// their known SHA-256.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace mgcompare {

// Bytes of all files of the set; total is 0 as long as the server has not said it.
struct DownloadProgress {
  std::string file;
  std::string from;
  std::size_t bytes = 0;
  std::size_t total = 0;
};

struct Download {
  // Addresses of folders, tried in turn; https only, redirects too.
  std::vector<std::string> mirrors;
  // What waiting for mirrors that do not answer may take, all together; data that flows is not counted.
  std::chrono::milliseconds timeout{24'000};
  std::string authorities;          // file of certificates to trust in place of the system's
  std::function<void(const DownloadProgress&)> progress;  // on the calling thread, a few times a second; may be empty
};

// The mirrors that are known to the program.
std::vector<std::string> mnist_mirrors();

// Whether the folder has at least one file that looks like MNIST's.
bool has_mnist(const std::string& folder);

// Reads the four files, packed by gzip or not, named as by their author ("train-images-idx3-ubyte") or with a dot
// ("train-images.idx3-ubyte"). Throws DataError for whatever is missing or wrong.
Dataset read_mnist(const std::string& folder);

// Puts the four files into `folder`, which is made where it is not there. A file appears under its name only after its
// checksum was found right. Throws DataError that lists what every mirror answered.
void download_mnist(const std::string& folder, const Download& download);

}  // namespace mgcompare
