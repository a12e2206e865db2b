#pragma once

// Files by https from the first of several mirrors that gives the right one. The only user of libcurl.

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace mgcompare {

struct FetchRequest {
  std::string name;                 // of the file on every mirror
  std::string part;                 // the path to write to; gone again where fetch() throws
  std::size_t most_bytes = 0;       // a mirror that sends more is given up
  // Throws Error where the file is not the right one: the next mirror's turn.
  std::function<void(const std::string& path)> check;
  // Bytes so far, and of the whole file (0: not known).
  std::function<void(const std::string& mirror, std::size_t bytes, std::size_t total)> progress;
};

class Fetcher {
 public:
  // `timeout` is all that mirrors without an answer may cost over the life of this object. A mirror that failed is not
  // asked again. `authorities` is a file of certificates to trust; empty: the system's.
  Fetcher(std::vector<std::string> mirrors, std::chrono::milliseconds timeout, std::string authorities = "");

  // Returns the size in bytes. Throws DataError with one clause a mirror where none gave the file.
  std::size_t fetch(const FetchRequest& request);

 private:
  std::vector<std::string> mirrors_;
  std::vector<std::string> failures_;
  std::chrono::milliseconds timeout_;
  std::string authorities_;
};

}  // namespace mgcompare
