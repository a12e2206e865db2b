#pragma once

// Downloads a file over https from the first of several mirrors that provides the right one. The only user of libcurl.

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

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

class Fetcher {
 public:
  // `timeout` limits the time spent on failing mirrors over the life of this object. A mirror that failed is not tried
  // again. `authorities` is a file of trusted certificates; empty: the system's.
  Fetcher(std::vector<std::string> mirrors, std::chrono::milliseconds timeout, std::string authorities = "");

  // Returns the size in bytes. If every mirror fails, throws DataError with one clause per mirror.
  std::size_t fetch(const FetchRequest& request);

 private:
  std::vector<std::string> mirrors_;
  std::vector<std::string> failures_;
  std::chrono::milliseconds timeout_;
  std::string authorities_;
};

}  // namespace mgcompare
