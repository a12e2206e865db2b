#pragma once

// A data set of the user in NumPy files: x.npy (samples, ...) and y.npy (samples) or (samples, positions) for training, and
// x_test.npy and y_test.npy for evaluation, which may be missing if the config holds back validation samples.

#include <string>

#include "data/npy.h"
#include "data/source.h"

namespace mgcompare {

// Samples and targets that belong together.
struct NpySplit {
  std::string x_path, y_path;
  NpyArray x, y;

  std::size_t samples() const { return x.shape[0]; }
  // Of one sample.
  Shape shape() const { return x.shape.size() == 1 ? Shape{1} : Shape(x.shape.begin() + 1, x.shape.end()); }
  // For each sample.
  std::size_t targets() const { return y.shape.size() == 1 ? 1 : y.shape[1]; }
};

// The training arrays in the folder, whose values are not checked. Throws DataError.
NpySplit training_arrays(const std::string& folder);

extern const DataSourceEntry kNpySet;

}  // namespace mgcompare
