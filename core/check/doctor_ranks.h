#pragma once

// What the ranks of a doctor's measurement share: their devices, the memory of each, and the figures.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/abortable_barrier.h"
#include "platform/platform.h"
#include "results/link_measurements.h"

namespace mgcompare {

struct DoctorEffort {
  std::size_t copy_bytes, check_bytes, max_sum_bytes;
  double seconds;  // minimum duration of a timed batch of calls
  int repeats;
};

// Of a rank. Allocated while no rank is in an exchange, and freed after the last: allocation may wait for exchanges.
struct DoctorMemory {
  std::unique_ptr<ExchangedVector> exchanged;
  Array<float> plain;            // if there is none
  Vec sums;                      // for collectives: the whole vector, which is one of the two
  Array<float> parts;            // this rank's part of it
  Array<float> before;           // what a kernel before each captured call writes; empty if calls are not captured
  Array<std::uint32_t> out, in;  // for copies between devices
  Array<std::uint32_t> host;
  Array<float> a, b, c;  // for arithmetic
};

struct DoctorRanks {
  Platform& platform;
  const DoctorScope& scope;
  const DoctorEffort effort;
  const std::function<void(const std::string&)>& report;  // a part that begins
  AbortableBarrier barrier;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<DoctorMemory> memories;
  LinkMeasurements links;  // each figure is written by one rank, between two barriers
};

}  // namespace mgcompare
