#pragma once

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
      : Error("asked " + std::to_string(asked) + " bytes, free " + std::to_string(free) + ", total " +
              std::to_string(total)) {}
};

}  // namespace mgcompare
