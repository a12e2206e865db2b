#pragma once

// Softmax cross-entropy on rows of logits.

#include <cstdint>

#include "mgcompare/types.h"
#include "model/network.h"

namespace mgcompare {

// Adds loss, correct predictions and predictions to `tally`. dlogits = (softmax - one hot) * scale unless dlogits is empty. A
// prediction is the first maximum of the logits. Throws Error for a target that is not below `classes`.
void softmax_cross_entropy(ConstVec logits, std::size_t classes, Span<const std::uint32_t> targets, Vec dlogits,
                           float scale, Tally& tally);

}  // namespace mgcompare
