#pragma once

#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace mgcompare {

// Everything a strategy or the program throws. The text is one sentence for the user: what, where, what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Thrown out of every waiting call of a group when another rank has failed. Let it pass: the first error is the one that
// is reported.
class Aborted : public Error {
 public:
  Aborted() : Error("another rank ended the trial") {}
};

// A device could not give the memory that was asked for.
class OutOfMemory : public Error {
 public:
  OutOfMemory(std::size_t asked, std::size_t free, std::size_t total)
      : OutOfMemory("asked " + size_text(asked), free, total) {}
  // Where nobody says how much was asked: `what` begins the sentence.
  OutOfMemory(const std::string& what, std::size_t free, std::size_t total)
      : Error(what + ", free " + size_text(free) + ", total " + size_text(total)) {}

 private:
  // "1.61 GiB", "32.0 MiB", "1000 bytes"
  static std::string size_text(std::size_t bytes) {
    constexpr double kMiB = 1 << 20, kGiB = 1 << 30;
    const auto count = static_cast<double>(bytes);
    char text[32];
    if (count >= kGiB) std::snprintf(text, sizeof text, "%.2f GiB", count / kGiB);
    else if (count >= kMiB) std::snprintf(text, sizeof text, "%.1f MiB", count / kMiB);
    else std::snprintf(text, sizeof text, "%zu bytes", bytes);
    return text;
  }
};

}  // namespace mgcompare
