#include "model/input_range.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "model/preparation.h"

namespace mgcompare {
namespace {

// Standardised samples have a root mean square of 1, those from 0 to 1 a smaller one. Sparse samples, such as one-hot vectors, have a
// tiny one, but some values of them are not small.
constexpr double kMostRootMeanSquare = 20, kLeastLargest = 0.01;
// Features whose largest values differ by more than this factor have different units.
constexpr double kOtherUnit = 0.02;

}  // namespace

std::string input_range_warning(const PreparationConfig& config, const SampleSpec& samples, const std::vector<StoredValues>& channels) {
  if (samples.tokens > 0 || channels.empty() || channels.size() != samples.shape.front() || preparation_problem(config, samples)) return "";
  const Preparation preparation = preparation_of(config, samples);
  const double scale = preparation.scale;
  double sum = 0, largest = 0, largest_stored = 0, smallest_feature = std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < channels.size(); ++c) {
    const StoredValues& stored = channels[c];
    const double mean = preparation.mean.empty() ? 0 : preparation.mean[c];
    const double factor = preparation.inverse_std.empty() ? 1 : preparation.inverse_std[c];
    const double square = scale * scale * stored.mean_square - 2 * scale * mean * stored.mean + mean * mean;
    sum += factor * factor * std::max(square, 0.0);
    largest = std::max({largest, factor * std::abs(scale * stored.smallest - mean), factor * std::abs(scale * stored.largest - mean)});
    const double feature = std::max(std::abs(stored.smallest), std::abs(stored.largest));
    largest_stored = std::max(largest_stored, feature);
    if (feature > 0) smallest_feature = std::min(smallest_feature, feature);
  }
  const double root_mean_square = std::sqrt(sum / static_cast<double>(channels.size()));
  const bool is_usual = root_mean_square <= kMostRootMeanSquare && largest >= kLeastLargest;
  // Values that are not finite are refused when they are loaded.
  if (is_usual || !std::isfinite(root_mean_square)) return "";
  // The features of a table may have different units, so that one factor does not fit all. Those of a flattened image have one.
  const bool has_features = samples.shape.size() == 1 && smallest_feature < kOtherUnit * largest_stored;
  const std::string size = root_mean_square > kMostRootMeanSquare ? fmt::format("a root mean square of {:.3g}", root_mean_square)
                                                                  : fmt::format("no value above {:.3g}", largest);
  const std::string advice = !config.mean.empty() && scale != 1
                                 ? fmt::format("`data.mean` is subtracted after the factor `data.scale` ({:.3g}), so give the mean of scaled values", scale)
                             : !config.mean.empty() ? "set `data.std`, too, or `data.scale` and the mean of scaled values"
                             : has_features         ? "set `data.mean` and `data.std`, with those of each feature"
                             : largest_stored > 0   ? fmt::format("set `data.scale`, for instance to {:.3g}", 1 / largest_stored)
                                                    : "all that were looked at are 0";
  return fmt::format("the inputs of the network have {}, and networks learn badly from values far from about -1 to 1: {}", size, advice);
}

}  // namespace mgcompare
