#include "model/initializer.h"

#include <algorithm>
#include <cmath>

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
  switch (initializer.kind) {
    case InitializerKind::xavier:
    case InitializerKind::he_normal:
      // MXNet's Xavier(gaussian, in, 2) and Keras's he_normal without its truncation are the same formula.
      return fill_normal(tensor, std::sqrt(2 / in), random);
    case InitializerKind::he_fan_out:
      return fill_normal(tensor, std::sqrt(2 / out), random);
    case InitializerKind::glorot_uniform:
      return fill_uniform(tensor, std::sqrt(6 / (in + out)), random);
    case InitializerKind::normal:
      return fill_normal(tensor, initializer.scale, random);
    case InitializerKind::uniform:
      return fill_uniform(tensor, initializer.scale, random);
    case InitializerKind::zeros:
      std::fill(tensor.begin(), tensor.end(), 0.0f);
  }
}

}  // namespace mgcompare
