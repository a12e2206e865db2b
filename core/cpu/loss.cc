#include "cpu/loss.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "config/sample_spec.h"
#include "mgcompare/error.h"

namespace mgcompare {

void softmax_cross_entropy(ConstVec logits, std::size_t classes, Span<const std::uint32_t> targets, Vec dlogits,
                           float scale, Tally& tally) {
  for (std::size_t row_number = 0; row_number < targets.size(); ++row_number) {
    const float* const row = logits.data() + row_number * classes;
    const std::size_t target = targets[row_number];
    if (target >= classes) {
      throw Error(fmt::format("a sample has target {} but the network has {}: give it more outputs", target, classes_text(classes)));
    }
    const float* const largest = std::max_element(row, row + classes);
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(row[c] - *largest);
    tally.loss += std::log(sum) - (row[target] - *largest);
    tally.correct += static_cast<std::size_t>(largest - row) == target && row[target] == row[target] ? 1 : 0;
    if (dlogits.empty()) continue;
    float* const gradient = dlogits.data() + row_number * classes;
    for (std::size_t c = 0; c < classes; ++c) {
      const auto probability = static_cast<float>(std::exp(row[c] - *largest) / sum);
      gradient[c] = (probability - (c == target ? 1.0f : 0.0f)) * scale;
    }
  }
  tally.predictions += targets.size();
}

}  // namespace mgcompare
