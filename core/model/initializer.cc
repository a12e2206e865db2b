#include "model/initializer.h"

#include <algorithm>
#include <cmath>
#include <vector>

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

// In a fixed order of additions that leaves the compiler eight independent sums.
double dot(const double* a, const double* b, std::size_t size) {
  double sums[8] = {};
  for (std::size_t i = 0; i < size; ++i) sums[i % 8] += a[i] * b[i];
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
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
    case InitializerKind::fan_in_uniform:
      return fill_uniform(tensor, std::sqrt(1 / in), random);
    case InitializerKind::normal:
      return fill_normal(tensor, initializer.scale, random);
    case InitializerKind::uniform:
      return fill_uniform(tensor, initializer.scale, random);
    case InitializerKind::zeros:
      std::fill(tensor.begin(), tensor.end(), 0.0f);
  }
}

void initialize_orthogonal(Vec tensor, std::size_t rows, std::size_t columns, const Random& random) {
  // Gram-Schmidt on random vectors: each loses its components along those before it, one after the other.
  const std::size_t count = std::min(rows, columns), size = std::max(rows, columns);
  std::vector<double> vectors(count * size);
  for (std::size_t i = 0; i < vectors.size(); ++i) vectors[i] = random.normal(i);
  for (std::size_t k = 0; k < count; ++k) {
    double* const vector = vectors.data() + k * size;
    for (std::size_t j = 0; j < k; ++j) {
      const double* const before = vectors.data() + j * size;
      const double along = dot(vector, before, size);
      for (std::size_t i = 0; i < size; ++i) vector[i] -= along * before[i];
    }
    const double length = std::sqrt(dot(vector, vector, size));
    for (std::size_t i = 0; i < size; ++i) vector[i] /= length;
  }
  const bool tall = rows >= columns;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column)
      tensor[row * columns + column] = static_cast<float>(tall ? vectors[column * size + row] : vectors[row * size + column]);
  }
}

}  // namespace mgcompare
