#pragma once

// Softmax cross-entropy on rows of logits.

#include <cstdint>

#include "mgcompare/types.h"
#include "model/network.h"

namespace mgcompare {

// Adds loss, hits and samples to `tally`; dlogits = (softmax - one hot) * scale unless dlogits is empty. The sample
// counts as correct when the label is the first of the largest logits. Throws Error for a label that is no class.
void softmax_cross_entropy(ConstVec logits, std::size_t classes, Span<const std::uint8_t> labels, Vec dlogits,
                           float scale, Tally& tally);

}  // namespace mgcompare
