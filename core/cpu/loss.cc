#include "cpu/loss.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "mgcompare/error.h"

namespace mgcompare {

void softmax_cross_entropy(ConstVec logits, std::size_t classes, Span<const std::uint8_t> labels, Vec dlogits,
                           float scale, Tally& tally) {
  for (std::size_t sample = 0; sample < labels.size(); ++sample) {
    const float* const row = logits.data() + sample * classes;
    const std::size_t label = labels[sample];
    if (label >= classes) {
      throw Error(fmt::format("a sample has label {} but the network has {} classes: give it more outputs", label, classes));
    }
    const float* const largest = std::max_element(row, row + classes);
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(row[c] - *largest);
    tally.loss += std::log(sum) - (row[label] - *largest);
    tally.correct += static_cast<std::size_t>(largest - row) == label && row[label] == row[label] ? 1 : 0;
    if (dlogits.empty()) continue;
    float* const gradient = dlogits.data() + sample * classes;
    for (std::size_t c = 0; c < classes; ++c) {
      const auto probability = static_cast<float>(std::exp(row[c] - *largest) / sum);
      gradient[c] = (probability - (c == label ? 1.0f : 0.0f)) * scale;
    }
  }
  tally.samples += labels.size();
}

}  // namespace mgcompare
