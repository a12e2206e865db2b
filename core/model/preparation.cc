#include "model/preparation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "mgcompare/error.h"

namespace mgcompare {
namespace {

// One value for each channel.
std::vector<double> spread(const std::vector<double>& values, std::size_t channels) {
  return values.size() == 1 ? std::vector<double>(channels, values.front()) : values;
}

}  // namespace

std::optional<PreparationProblem> preparation_problem(const PreparationConfig& config, const SampleSpec& spec) {
  const std::string shape = fmt::format("{}", fmt::join(spec.shape, " x "));
  for (const auto& [key, values] : {std::pair("mean", &config.mean), std::pair("std", &config.std)}) {
    if (values->size() > 1 && values->size() != spec.shape.front())
      return PreparationProblem{key, fmt::format("'data.{}' has {} values, but the samples are {}: give one value, or one for each of "
                                                 "the {} channels", key, values->size(), shape, spec.shape.front())};
  }
  const char* const changes = !config.mean.empty() ? "mean" : !config.std.empty() ? "std" : config.scale > 0 && config.scale != 1 ? "scale" : nullptr;
  if (changes != nullptr && spec.tokens > 0)
    return PreparationProblem{changes, fmt::format("'data.{}' would change the tokens that the network reads (embedding, one_hot): "
                                                   "remove it", changes)};
  if ((config.flip || config.crop_padding > 0) && spec.shape.size() != 3) {
    const char* const key = config.flip ? "flip" : "crop.padding";
    return PreparationProblem{key, fmt::format("'data.{}' needs images (channels x height x width), but the samples are {}", key, shape)};
  }
  // A shift by the whole height or width would leave nothing of the image.
  if (config.crop_padding > 0 && config.crop_padding >= std::min(spec.shape[1], spec.shape[2]))
    return PreparationProblem{"crop.padding", fmt::format("'data.crop.padding' is {}, but the images are only {} x {} (height x width): use "
                                                          "less than {}", config.crop_padding, spec.shape[1], spec.shape[2],
                                                          std::min(spec.shape[1], spec.shape[2]))};
  return std::nullopt;
}

Preparation preparation_of(const PreparationConfig& config, const SampleSpec& spec) {
  if (const auto problem = preparation_problem(config, spec)) throw Error(problem->text);
  Preparation preparation;
  preparation.scale = static_cast<float>(config.scale > 0 ? config.scale : spec.element == ElementType::uint8 && spec.tokens == 0 ? 1.0 / 255 : 1);
  const std::size_t channels = spec.shape.front();
  if (!config.mean.empty() || !config.std.empty()) {
    for (const double mean : spread(config.mean.empty() ? std::vector<double>{0} : config.mean, channels))
      preparation.mean.push_back(static_cast<float>(mean));
    for (const double std : spread(config.std.empty() ? std::vector<double>{1} : config.std, channels))
      preparation.inverse_std.push_back(static_cast<float>(1 / std));
  }
  preparation.flip = config.flip;
  preparation.crop_padding = config.crop_padding;
  return preparation;
}

}  // namespace mgcompare
