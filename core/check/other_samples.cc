#include "check/other_samples.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "data/order.h"

namespace mgcompare {
namespace {

template <class T> std::uint64_t hash_of(const T* values, std::size_t count) {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(values), count * sizeof(T)});
}

}  // namespace

std::vector<std::uint64_t> OtherSamples::contents(const Batch& share, const std::vector<std::uint32_t>& order) const {
  const std::size_t bytes = split_.values.size() / split_.samples, targets = split_.targets.size() / split_.samples;
  std::vector<std::uint64_t> all;
  for (std::size_t i = share.begin(); i < share.begin() + share.size(); ++i)
    all.push_back(31 * hash_of(split_.values.data() + order[i] * bytes, bytes) + hash_of(split_.targets.data() + order[i] * targets, targets));
  std::sort(all.begin(), all.end());
  return all;
}

std::optional<Batch> OtherSamples::in_place_of(const Batch& batch, std::size_t rank, std::size_t ranks) const {
  const std::vector<std::uint32_t> order = epoch_order(split_.samples, seed_, batch.epoch());
  const auto from = [&](std::size_t begin) {
    return Batch({batch.epoch(), batch.step(), begin, batch.global_size(), rank, ranks, batch.learning_rate()}, batch.sample_shape());
  };
  const std::size_t own = batch.whole().begin(), places = split_.samples - batch.global_size() + 1;
  const std::vector<std::uint64_t> present = contents(from(own), order);
  // First those of the other half of the epoch.
  for (std::size_t k = 0; k < places; ++k)
    if (const Batch other = from((own + places / 2 + k) % places); contents(other, order) != present) return other;
  return std::nullopt;
}

}  // namespace mgcompare
