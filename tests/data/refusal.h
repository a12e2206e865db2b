#pragma once

// The message of the DataError that a call throws.

#include <functional>
#include <string>

#include "data/dataset.h"

namespace mgcompare {

inline std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const DataError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace mgcompare
