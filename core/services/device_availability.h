#pragma once

// Which of the devices that a run began with still answer. Trials run on the first that do; one that needs more of them
// is a row at once.

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

  // Why a trial cannot run: too few devices answer, and what the first said that does not. Empty where enough do.
  std::string lost(const Trial& trial) const;
  // The trial on the first devices that answer.
  Trial placed(const Trial& trial) const;
  // What its row has to say of them; empty where they are those that it would have had on the machine as it was.
  std::string note(const Trial& trial) const;
  // After a placed trial that ended badly: asks the devices of its kind, in fresh workers that end with it, and makes
  // the trial's result one of a lost device where that is what happened. Returns a sentence for the user where devices
  // have stopped answering since the last time; mostly empty.
  std::string check(Supervisor& supervisor, const Trial& trial, Result& result);

 private:
  struct Member {
    std::string name;     // "cuda:1", as it was called when the run began
    std::string id;
    int index = 0;        // now
    std::string silence;  // why it does not answer; empty where it does
  };
  using Members = std::vector<Member>;  // in the devices' order
  const Members& members_of(const Trial& trial) const;
  // The first that answer, as many as the trial needs or there are.
  static std::vector<std::size_t> chosen(const Members& members, const Trial& trial);

  std::map<std::string, Members> members_;  // by kind
};

}  // namespace mgcompare
