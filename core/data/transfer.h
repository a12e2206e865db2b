#pragma once

// How a file is downloaded. A module does it (core/https): its libraries take more than half as long to load as the rest of the program, and few
// runs need them.

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace mgcompare {

struct TransferRequest {
  std::string url;                  // https only, also of redirects
  std::size_t max_bytes = 0;        // more are refused
  std::chrono::milliseconds timeout{0};  // without a connection or data
  std::string authorities;          // file of trusted certificates; empty: the system's
  // Gets the bytes in order.
  std::function<void(std::string_view)> write;
  // Called a few times a second with the bytes received so far and the total (0: unknown). May be empty.
  std::function<void(std::size_t bytes, std::size_t total)> progress;
};

// Returns why it failed, as the end of a sentence whose subject is the mirror; empty: the file is complete. Throws what `write` and `progress` throw,
// and DataError if nothing can be downloaded.
using Transfer = std::string (*)(const TransferRequest&);

}  // namespace mgcompare

// What the module provides.
extern "C" mgcompare::Transfer mgcompare_transfer();
