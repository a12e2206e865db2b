#pragma once

// Memory with a LivePosition that the runner and one of its workers share. It outlives the worker.

#include "base/descriptor.h"
#include "results/live_position.h"

namespace mgcompare {

class SharedPosition {
 public:
  // New memory, for the runner. Throws Error.
  SharedPosition();
  // Maps the memory of `descriptor`, for a worker, and closes the descriptor. Throws Error.
  explicit SharedPosition(Descriptor descriptor);
  ~SharedPosition();
  SharedPosition(const SharedPosition&) = delete;
  SharedPosition& operator=(const SharedPosition&) = delete;

  LivePosition& operator*() const { return *position_; }
  LivePosition* operator->() const { return position_; }
  // For the worker; of the runner's object only.
  int descriptor() const { return memory_.number(); }

 private:
  void map();

  Descriptor memory_;
  LivePosition* position_ = nullptr;
};

}  // namespace mgcompare
