#pragma once

// Why a trial, or another request to a worker, ended early.

#include <exception>
#include <string>

#include "mgcompare/error.h"
#include "results/status.h"

namespace mgcompare {

// The loss is no longer finite. This is a result of the trial, not a failure of the program.
class Diverged : public Error {
 public:
  using Error::Error;
};

// The user stopped the trial.
class Interrupted : public Error {
 public:
  Interrupted() : Error("stopped by the user") {}
};

// Ends a trial, or another request, with a status that follows from no other exception.
class EndedAs : public Error {
 public:
  EndedAs(TrialStatus status, const std::string& sentence) : Error(sentence), status_(status) {}
  TrialStatus status() const { return status_; }

 private:
  TrialStatus status_;
};

struct Cause {
  TrialStatus status = TrialStatus::failed;
  std::string sentence;
};

// Classifies what was thrown. Plugins may throw values that are not exceptions. A text of any length is shortened(), so that it
// fits into a message and a report.
Cause cause_of(const std::exception_ptr& thrown);

}  // namespace mgcompare
