#pragma once

// Checks the all-reduce of a group of devices and times its collectives, for vectors of 4 KiB and more.

#include <string>
#include <vector>

#include "check/call_timing.h"
#include "check/collective_call.h"
#include "check/doctor_ranks.h"

namespace mgcompare {

class SumMeasurement {
 public:
  explicit SumMeasurement(DoctorRanks& ranks) : ranks_(ranks), timing_(ranks), good_(ranks.devices.size()) {}

  // Of the first `devices` devices, which `group` connects. Every rank calls it; those outside of the group only wait.
  void run(std::size_t me, std::size_t devices, Collectives& group);

 private:
  bool sum_is_right(std::size_t me, std::size_t devices, Collectives& group);
  std::size_t size_step() const;
  CallVectors vectors(std::size_t me, std::size_t devices, std::size_t bytes, std::size_t root);
  template <class Call> double seconds_behind_writes(std::size_t me, bool member, Vec sent, const Call& call);
  template <class Call> double seconds_of_captured(std::size_t me, bool member, const Call& call);
  template <class F> double seconds_in_sequence(std::size_t me, bool member, F f);

  DoctorRanks& ranks_;
  CallTiming timing_;
  std::vector<char> good_;  // whether the last sum of each rank was right
};

}  // namespace mgcompare
