#pragma once

// A data set of the user in NumPy files: x.npy (samples, ...) and y.npy (samples) or (samples, positions) for training, and
// x_test.npy and y_test.npy for evaluation, which may be missing if the config holds back validation samples.

#include "data/source.h"

namespace mgcompare {

extern const DataSourceEntry kNpySet;

}  // namespace mgcompare
