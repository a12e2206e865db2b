#pragma once

// How far a rank's weights are from what the ranks agree on: |own - common| / |common|. Accumulated on the device, so that
// captured steps count too. On the rank's thread; not collective.

#include <cstddef>

#include "mgcompare/arithmetic.h"
#include "mgcompare/replica.h"

namespace mgcompare {

namespace detail {
struct Squares;
struct DriftTotal;
}  // namespace detail

class Drift {
 public:
  Drift() = default;
  // For vectors of `size` elements. Allocates (OutOfMemory) and waits for the device: call it in Strategy::start.
  Drift(Device& device, std::size_t size);
  // Adds one value. Stream-ordered.
  void add(Device& device, ConstVec own, ConstVec common);
  // Writes the mean since the last report as the metric "drift", if there was a value. Waits for the device: call it in
  // Strategy::settle.
  void report(Replica& replica);

 private:
  Array<Segment> pieces_;
  Array<detail::Squares> squares_;
  Array<detail::DriftTotal> total_;
};

}  // namespace mgcompare

#include "mgcompare/detail/drift.h"
