#pragma once

// The steps that a rank makes alone between two meetings of all ranks, and the mean of what the ranks came to by them.
// Weighting by samples, not by steps, keeps unequal and empty shares right.

#include "mgcompare/archive.h"
#include "mgcompare/arithmetic.h"
#include "mgcompare/group.h"
#include "mgcompare/replica.h"

namespace mgcompare {

class LocalSteps {
 public:
  // One more: this rank updates its own copy by the mean gradient of its own share.
  void step(Replica& replica, const Batch& batch) {
    replica.backward(batch, Scale::own_share);
    if (batch.size() > 0) replica.update();
    else replica.optimizer().advance();  // a step without samples is a step all the same
    samples_ += batch.size();
    all_samples_ += batch.global_size();
    ++steps_;
  }

  // Of the steps since the last meeting.
  std::size_t count() const { return steps_; }
  // This rank's part in a mean: its share of the samples that all ranks learnt from in them.
  float weight() const { return static_cast<float>(static_cast<double>(samples_) / static_cast<double>(all_samples_)); }

  // Every rank's vector becomes the mean of all of them. Collective and stream-ordered, as an all_reduce is; there must
  // have been a step.
  void take_mean(Device& device, Group& group, Vec vector) const {
    const float weight = this->weight();
    float* const v = vector.data();
    for_each(device, vector.size(), [=] MGCOMPARE_FUNCTION(std::size_t i) { v[i] *= weight; });
    group.all_reduce(vector);
  }

  // The ranks have met.
  void begin() { samples_ = all_samples_ = steps_ = 0; }

  void save(Archive& archive) const {
    archive.put_value("samples since the meeting", samples_);
    archive.put_value("all ranks' samples since the meeting", all_samples_);
    archive.put_value("steps since the meeting", steps_);
  }
  void restore(Archive& archive) {
    archive.get_value("samples since the meeting", samples_);
    archive.get_value("all ranks' samples since the meeting", all_samples_);
    archive.get_value("steps since the meeting", steps_);
  }

 private:
  std::size_t samples_ = 0, all_samples_ = 0, steps_ = 0;
};

}  // namespace mgcompare
