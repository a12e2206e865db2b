#pragma once

// Downloads a file over https from the first of several mirrors that provides the right one.

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "data/transfer.h"

namespace mgcompare {

struct FetchRequest {
  std::string name;                 // of the file on every mirror
  std::string path;                 // appears, or is replaced, only after `check` accepted the complete download
  std::size_t max_bytes = 0;        // a mirror that sends more is dropped
  // Gets the path of the temporary file. Throws Error for a wrong file; the next mirror is then tried.
  std::function<void(const std::string& path)> check;
  // Called with the bytes received so far and the total (0: unknown).
  std::function<void(const std::string& mirror, std::size_t bytes, std::size_t total)> progress;
};

// Bytes of all files of the set; total is 0 while unknown.
struct DownloadProgress {
  std::string file;
  std::string from;
  std::size_t bytes = 0;
  std::size_t total = 0;
};

struct Download {
  Transfer transfer = nullptr;      // null: nothing can be downloaded (modules/transfer_host.h)
  // URLs of folders, tried in order; https only, also for redirects.
  std::vector<std::string> mirrors;
  bool from_publisher = false;      // from the mirrors of the data set; otherwise from `mirrors` only
  // Limit for the total wait for mirrors that do not respond; time in which data arrives does not count.
  std::chrono::milliseconds timeout{24'000};
  std::string authorities;          // file of trusted certificates; empty: the system's
  std::function<void(const DownloadProgress&)> progress;  // on the calling thread, a few times a second; may be empty
};

// The mirrors of a download of a set that is published at `own`. Throws DataError if there are none.
const std::vector<std::string>& mirrors_of(const Download& download, const std::vector<std::string>& own);

class Fetcher {
 public:
  // `timeout` limits the time spent on failing mirrors over the life of this object. A mirror that failed is not tried
  // again. `authorities` is a file of trusted certificates; empty: the system's.
  Fetcher(Transfer transfer, std::vector<std::string> mirrors, std::chrono::milliseconds timeout, std::string authorities = "");

  // Returns the size in bytes. If every mirror fails, throws DataError with one clause per mirror.
  std::size_t fetch(const FetchRequest& request);

 private:
  Transfer transfer_;
  std::vector<std::string> mirrors_;
  std::vector<std::string> failures_;
  std::chrono::milliseconds timeout_;
  std::string authorities_;
};

}  // namespace mgcompare
