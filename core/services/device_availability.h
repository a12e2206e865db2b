#pragma once

// Which of the devices that a run began with still answer. Trials run on the first devices that do, or on those that the config chose. A trial that needs more
// devices than are left fails at once, with the status "device lost".

#include <map>
#include <string>
#include <vector>

#include "discovery/capabilities.h"
#include "results/result.h"
#include "process/supervisor.h"
#include "plan/trial.h"

namespace mgcompare {

class DeviceAvailability {
 public:
  explicit DeviceAvailability(const std::vector<PlatformSummary>& platforms);

  // Why the trial cannot run: too few devices answer. Empty if enough do.
  std::string lost(const Trial& trial) const;
  // The trial, placed on the first devices that answer.
  Trial placed(const Trial& trial) const;
  // A note for its result if these are not the devices that it would have had at the beginning of the run; else empty.
  std::string note(const Trial& trial) const;
  // After a failed trial: checks the devices of its kind in new workers. If a device of the trial does not answer, changes
  // the result to "device lost". Returns a sentence for the user if more devices have stopped answering; else empty.
  std::string check(Supervisor& supervisor, const Trial& trial, Result& result);

 private:
  struct Member {
    std::string name;     // "cuda:1", when the run began
    std::string id;
    int index = 0;        // current
    std::string silence;  // why it does not answer; empty: it answers
  };
  using Members = std::vector<Member>;  // in the order of the devices
  const Members& members_of(const Trial& trial) const;
  // Indices of the first members that answer, at most as many as the trial needs.
  static std::vector<std::size_t> chosen(const Members& members, const Trial& trial);

  std::map<std::string, Members> members_;  // by kind
};

}  // namespace mgcompare
