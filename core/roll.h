#pragma once

// Which of the devices that a run began with still answer. A trial that needs one that does not is a row at once.

#include <map>
#include <string>
#include <vector>

#include "probe.h"
#include "result.h"
#include "supervisor.h"
#include "trial.h"

namespace mgcompare {

class Roll {
 public:
  explicit Roll(const std::vector<PlatformSummary>& platforms);

  // Why a trial cannot run: the first of its devices that does not answer any more, and what it said. Empty where all
  // do.
  std::string lost(const Trial& trial) const;
  // After a trial that ended badly: asks the devices of its kind, in a fresh worker that ends with it, and makes the
  // trial's result one of a lost device where that is what happened.
  void check(Supervisor& supervisor, const Trial& trial, Result& result);

 private:
  struct Member {
    std::string id;
    std::string silence;  // why it does not answer; empty where it does
  };
  std::map<std::string, std::vector<Member>> members_;  // by kind, in the devices' order
};

}  // namespace mgcompare
