#pragma once

// Class labels that leave nothing to learn, or whose numbers are hardly meant: the same checks and sentences for all data sets of the user.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "config/config.h"

namespace mgcompare {

struct Labels {
  std::string path;                 // of their file
  std::size_t samples = 0;          // 0: they are not known
  std::size_t targets = 1;          // of one sample
  std::function<std::int64_t(std::size_t)> at;  // label i of samples x targets; may throw DataError
  bool are_symbols = false;         // of sequences: some symbols may never be a target
  std::string doubt;                // a warning from where they were read; usually empty

  std::size_t count() const { return samples * targets; }
};

// Throws DataError if there are several labels and all are the same.
void expect_several_classes(const Labels& train);

// `given` (`data.classes`), or the largest training label plus one if that is 0. Then it throws DataError if all training labels are the same,
// or if a test label is larger than all of them. `test` may be null.
std::size_t classes_of(std::size_t given, const Labels& train, const Labels* test);

// A warning if the samples that are trained under the limits of the config are of one class, or if some of `classes` classes have none;
// otherwise empty. With `data.classes` more classes than occur are meant.
std::string label_warning(const Labels& train, std::size_t classes, const DataConfig& config);

// A warning if one class has so many of the labels that are trained that always answering it has a high accuracy, or the target; otherwise
// empty. `target_accuracy`: 0 if there is none.
std::string majority_warning(const Labels& train, std::size_t classes, const DataConfig& config, double target_accuracy);

// A warning if the samples that are held back for validation are of one class; otherwise empty.
std::string validation_warning(const Labels& train, const DataConfig& config);

}  // namespace mgcompare
