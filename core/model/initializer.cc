#include "model/initializer.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "mgcompare/error.h"

namespace mgcompare {
namespace {

void fill_normal(Vec tensor, double deviation, const Random& random) {
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor[i] = static_cast<float>(deviation * random.normal(i));
}

void fill_uniform(Vec tensor, double half_width, const Random& random) {
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    tensor[i] = static_cast<float>(half_width * (2.0 * random.uniform(i) - 1.0));
  }
}

}  // namespace

void initialize(Vec tensor, const InitializerConfig& initializer, std::size_t fan_in, std::size_t fan_out,
                const Random& random) {
  const auto in = static_cast<double>(fan_in), out = static_cast<double>(fan_out);
  if (initializer.kind == "xavier" || initializer.kind == "he_normal") {
    // MXNet's Xavier(gaussian, in, 2) and Keras's he_normal without its truncation are one formula.
    fill_normal(tensor, std::sqrt(2 / in), random);
  } else if (initializer.kind == "glorot_uniform") {
    fill_uniform(tensor, std::sqrt(6 / (in + out)), random);
  } else if (initializer.kind == "normal") {
    fill_normal(tensor, initializer.scale, random);
  } else if (initializer.kind == "uniform") {
    fill_uniform(tensor, initializer.scale, random);
  } else if (initializer.kind == "zeros") {
    std::fill(tensor.begin(), tensor.end(), 0.0f);
  } else {
    throw Error(fmt::format("unknown initializer '{}': use xavier, glorot_uniform, he_normal, normal, uniform or zeros",
                            initializer.kind));
  }
}

}  // namespace mgcompare
