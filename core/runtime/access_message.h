#pragma once

// What a rank says to another host: which access to memory there it wants, or, to the first host, what it calls of the scheduler.

#include <cstdint>

#include "runtime/sample_draws.h"

namespace mgcompare {

struct AccessRequest {
  enum class Kind : std::uint32_t {
    get, put, add,                  // elements of a window; put and add are followed by them
    exclusive, released,            // `number`: the stripe; released when the section is over
    wait_until, holds, holds_not,   // a condition, and what it is now
    failed,                         // the function of a section, or the condition, threw
    spend, enter, leave,            // `amount`: samples; `number`: the epoch
    draw,                           // at most `number` of `size` samples
    end                             // nothing will follow
  } kind = Kind::end;
  std::uint32_t rank = 0, window = 0;  // whose
  std::uint64_t number = 0, size = 0;  // of windows: the first element, and how many
  double amount = 0;
};

struct AccessReply {
  enum class Kind : std::uint32_t { done, evaluate, error } kind = Kind::done;
  std::uint64_t text = 0;           // bytes of the error's sentence, which follows
  SampleDraw draw = {};
};

}  // namespace mgcompare
