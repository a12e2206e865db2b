#include "data/drawn_split.h"

#include <thread>
#include <utility>
#include <vector>

namespace mgcompare {

Split drawn_split(std::size_t samples, std::size_t classes, std::size_t bytes_per_sample, const DrawSample& draw_sample) {
  std::vector<std::uint8_t> bytes(samples * bytes_per_sample);
  Split split;
  split.samples = samples;
  split.targets.resize(samples);
  const auto draw = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      split.targets[i] = static_cast<std::uint32_t>(i % classes);
      draw_sample(i, split.targets[i], bytes.data() + i * bytes_per_sample);
    }
  };
  std::thread helper(draw, samples / 2, samples);
  draw(0, samples / 2);
  helper.join();
  split.values = SharedBytes(std::move(bytes));
  return split;
}

}  // namespace mgcompare
