#pragma once

// Samples that a rank can get in place of its own, to see whether a model depends on them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "data/dataset.h"
#include "mgcompare/batch.h"

namespace mgcompare {

// Not thread-safe: one for each rank.
class OtherSamples {
 public:
  // `split` must outlive this object; `seed` determines the order of the samples.
  OtherSamples(const Split& split, std::uint64_t seed) : split_(split), seed_(seed) {}

  // A batch of the same epoch and size of which the share of `rank` among `ranks` has other samples: data can have the same one
  // several times. Nothing if there is none.
  std::optional<Batch> in_place_of(const Batch& batch, std::size_t rank, std::size_t ranks) const;

 private:
  // What the samples are, in an order that does not depend on theirs.
  std::vector<std::uint64_t> contents(const Batch& share, const std::vector<std::uint32_t>& order) const;

  const Split& split_;
  std::uint64_t seed_;
};

}  // namespace mgcompare
