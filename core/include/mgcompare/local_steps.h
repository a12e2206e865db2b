#pragma once

// Steps that a rank makes alone between two averagings, and the mean of the ranks' vectors, weighted by samples. Weights
// by samples, not by steps, are right for unequal and empty shares too. On the rank's thread, stream-ordered.

#include "mgcompare/archive.h"
#include "mgcompare/arithmetic.h"
#include "mgcompare/group.h"
#include "mgcompare/replica.h"

namespace mgcompare {

class LocalSteps {
 public:
  // One step: updates this rank's weights by the mean gradient of its own share. An empty share counts as a step of the
  // optimiser, but changes no weights.
  void step(Replica& replica, const Batch& batch) {
    replica.backward(batch, Scale::own_share);
    if (batch.size() > 0) replica.update();
    else replica.optimizer().advance();
    samples_ += batch.size();
    all_samples_ += batch.global_size();
    ++steps_;
  }

  // Steps since begin(). Host state.
  std::size_t count() const { return steps_; }
  // This rank's share of the samples of those steps; needs count() > 0.
  float weight() const { return static_cast<float>(static_cast<double>(samples_) / static_cast<double>(all_samples_)); }

  // Replaces each rank's vector by the weighted mean of all ranks' vectors. Collective; needs count() > 0.
  void take_mean(Device& device, Group& group, Vec vector) const;

  // Begins a new period, after an averaging.
  void begin() { samples_ = all_samples_ = steps_ = 0; }

  // For Strategy::save and Strategy::restore.
  void save(Archive& archive) const;
  void restore(Archive& archive);

 private:
  std::size_t samples_ = 0, all_samples_ = 0, steps_ = 0;
};

}  // namespace mgcompare

#include "mgcompare/detail/local_steps.h"
