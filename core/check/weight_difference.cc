#include "check/weight_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "mgcompare/random.h"

namespace mgcompare {
namespace {

constexpr float kNudge = std::numeric_limits<float>::epsilon();

double largest_difference(const std::vector<float>& a, const std::vector<float>& b, Range range) {
  double largest = 0;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    largest = std::isfinite(difference) ? std::max(largest, difference) : INFINITY;
  }
  return largest;
}

}  // namespace

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() ? largest_difference(a, b, {0, a.size()}) : INFINITY;
}

double largest_difference(const std::vector<std::vector<float>>& expected, const std::vector<std::vector<float>>& weights) {
  double largest = 0;
  for (std::size_t rank = 0; rank < expected.size(); ++rank)
    largest = std::max(largest, largest_difference(expected[rank], weights.at(rank)));
  return largest;
}

double relative_gap(const std::vector<double>& a, const std::vector<double>& b) {
  double gap = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    gap += (a[i] - b[i]) * (a[i] - b[i]);
    size += a[i] * a[i];
  }
  return size == 0 ? 0 : std::sqrt(gap / size);
}

StatisticsGap statistics_gap(const NetworkSpec& spec, const std::vector<float>& expected, const std::vector<float>& buffers) {
  StatisticsGap largest;
  for (const LayerSpec& layer : spec.layers) {
    if (layer.buffers.size() == 0) continue;
    const auto part = [&](const std::vector<float>& all) {
      return std::vector<double>(all.begin() + static_cast<std::ptrdiff_t>(layer.buffers.begin), all.begin() + static_cast<std::ptrdiff_t>(layer.buffers.end));
    };
    const double gap = relative_gap(part(expected), part(buffers));
    if (!(gap <= largest.gap)) largest = {layer.config.name, gap};
  }
  return largest;
}

std::vector<TensorLimit> limits_of(const NetworkSpec& spec, const std::vector<float>& a, const std::vector<float>& b, double factor,
                                   double least) {
  std::vector<TensorLimit> limits;
  const auto add = [&](const LayerSpec& layer, const char* part, Range range) {
    if (range.size() > 0)
      limits.push_back({fmt::format("{} {}", layer.config.name, part), range, std::max(least, factor * largest_difference(a, b, range))});
  };
  for (const LayerSpec& layer : spec.layers) {
    add(layer, "weights", layer.weights);
    add(layer, "bias", layer.bias);
  }
  return limits;
}

Departure largest_departure(const std::vector<std::vector<float>>& expected, const std::vector<std::vector<float>>& weights,
                            const std::vector<TensorLimit>& limits) {
  Departure largest;
  for (std::size_t rank = 0; rank < expected.size(); ++rank)
    for (const TensorLimit& tensor : limits) {
      const double difference = largest_difference(expected[rank], weights.at(rank), tensor.range);
      if (largest.tensor.empty() || difference / tensor.limit > largest.difference / largest.limit)
        largest = {tensor.name, difference, tensor.limit};
    }
  return largest;
}

std::vector<float> nudged_weights(std::vector<float> weights, std::uint64_t seed) {
  const Random random(seed, weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] *= random.below(i, 2) == 0 ? 1 - kNudge : 1 + kNudge;
  return weights;
}

std::string untrained_tensor(const NetworkSpec& spec, const std::vector<float>& initial, const std::vector<float>& reference,
                             const std::vector<float>& weights) {
  const auto mean_square = [&](Range range) {
    double sum = 0;
    for (std::size_t i = range.begin; i < range.end; ++i) sum += std::pow(static_cast<double>(reference[i]) - static_cast<double>(initial[i]), 2);
    return sum / static_cast<double>(range.size());
  };
  const double average = mean_square({0, initial.size()});
  for (const TensorLimit& tensor : limits_of(spec, initial, weights, 1, 0)) {
    const bool is_changed = tensor.limit != 0;
    if (!is_changed && average > 0 && mean_square(tensor.range) >= average / 100) return tensor.name;
  }
  return "";
}

std::string difference_text(double difference, double limit, std::size_t steps) {
  if (difference == 0) return fmt::format("the same bits after {} steps", steps);
  const std::string text = fmt::format("differs by {:.1e} after {} steps", difference, steps);
  return limit == 0 ? text : fmt::format("{}, limit {:.0e}", text, limit);
}

}  // namespace mgcompare
