#pragma once

// Why a trial, or the answer to another question, ended before its end.

#include <exception>
#include <string>

#include "mgcompare/error.h"

namespace mgcompare {

// The loss is no longer finite: an outcome, not a failure.
class Diverged : public Error {
 public:
  using Error::Error;
};

// The user asked the trial to stop.
class Interrupted : public Error {
 public:
  Interrupted() : Error("stopped by the user") {}
};

struct Cause {
  std::string status;               // what it makes of a trial, in the words of result.h
  std::string sentence;
};

// Of whatever was thrown: by a plugin that need not be an exception.
Cause cause_of(const std::exception_ptr& thrown);

}  // namespace mgcompare
