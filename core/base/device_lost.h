#pragma once

#include "mgcompare/error.h"

namespace mgcompare {

// The device does not respond, or reports a fault from which it cannot recover.
class DeviceLost : public Error {
 public:
  using Error::Error;
};

}  // namespace mgcompare
