#include "train/evaluation.h"

#include <algorithm>

namespace mgcompare {

Tally evaluate(Network& network, Feed& feed, Range samples, ConstVec weights) {
  const Pass pass{.training = false};
  for (std::size_t begin = samples.begin; begin < samples.end; begin += kEvaluationBatch) {
    const std::size_t count = std::min(kEvaluationBatch, samples.end - begin);
    const Vec logits = network.forward(feed, begin, count, pass, weights);
    network.loss(feed, begin, count, logits, {}, 1);
  }
  return network.take_tally();
}

}  // namespace mgcompare
