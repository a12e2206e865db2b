#pragma once

// Which rank gets another sample than its own, to see whether the model of all ranks depends on each of them.

#include <cstddef>
#include <string>

#include "check/verify_scope.h"

namespace mgcompare {

// One rank gets another sample in place of one of its own, in one of its steps.
struct Alteration {
  int rank = 0;
  std::size_t epoch = 0;
  std::size_t step = 0;             // of the rank, in this epoch
  double place = 0;                 // of the sample in the rank's share: 0 is the first one, 1 the last one
};

// A training that is altered.
struct AlteredTraining {
  std::string optimizer;
  int ranks = 2;
  bool is_brief = false, is_lockstep = true;
};

// How many trainings with each optimiser are altered. With all optimisers of the scope together every rank is, in the first
// epoch and in a later one, and even and odd steps are: a model that ignores a rank, from the second epoch on or always, or
// every second step, is detected with certainty. In lockstep, so are the first step of the last epoch but one, and the last full and the
// short last step of a later epoch. Free-running ranks make different numbers of steps.
// Every rank's first and last sample are altered, so half a share that is not learned from is detected, too; at the ends of epochs one that is drawn.
std::size_t alterations_of(const VerifyScope& scope, const AlteredTraining& of);

// The one with this number, below alterations_of(). Epoch and step are drawn from the seed: not the first step of all, whose
// learning rate is 0, and not the last epoch: a model may show what a rank learned some exchanges later.
Alteration alteration_of(const VerifyScope& scope, const AlteredTraining& of, std::size_t number);

}  // namespace mgcompare
