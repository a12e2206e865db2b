#pragma once

// Which samples of the epoch ranks at free pace have drawn.

#include <algorithm>
#include <cstddef>

namespace mgcompare {

struct SampleDraw {
  std::size_t begin = 0, size = 0;  // 0: none is left
  std::size_t index = 0;            // of the draws of the epoch
};

class SampleDraws {
 public:
  // Begins an epoch.
  void reset() { drawn_ = draws_ = 0; }
  // The next ones of `samples`, at most `most`.
  SampleDraw next(std::size_t most, std::size_t samples) {
    SampleDraw draw{drawn_, std::min(most, samples - drawn_), 0};
    drawn_ += draw.size;
    if (draw.size > 0) draw.index = draws_++;
    return draw;
  }

 private:
  std::size_t drawn_ = 0, draws_ = 0;
};

}  // namespace mgcompare
