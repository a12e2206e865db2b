#pragma once

// A data set of the user in IDX files, named like those of MNIST: train-images-idxD-ubyte, train-labels-idx1-ubyte,
// t10k-images-idxD-ubyte and t10k-labels-idx1-ubyte for D dimensions, plain or compressed by gzip.

#include "data/source.h"

namespace mgcompare {

extern const DataSourceEntry kIdxSet;

}  // namespace mgcompare
