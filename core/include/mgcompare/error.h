#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace mgcompare {

// The base of all exceptions that a strategy or the program throws. The text is one sentence for the user: what happened,
// where, and what to do. An exception that leaves a strategy's method ends the trial; its row shows the text.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Thrown by every waiting call of a Group after another rank failed. Do not catch it: the first error is reported.
class Aborted : public Error {
 public:
  Aborted() : Error("another rank ended the trial") {}
};

// A device has not enough free memory. Sizes are in bytes.
class OutOfMemory : public Error {
 public:
  OutOfMemory(std::size_t asked, std::size_t free, std::size_t total)
      : OutOfMemory("asked " + size_text(asked), free, total) {}
  // For an unknown size: `what` begins the sentence.
  OutOfMemory(const std::string& what, std::size_t free, std::size_t total)
      : Error(what + ", free " + size_text(free) + ", total " + size_text(total)) {}

 private:
  static std::string size_text(std::size_t bytes);
};

}  // namespace mgcompare

#include "mgcompare/detail/error.h"
