#pragma once

// Included by local_steps.h.

namespace mgcompare {

inline void LocalSteps::take_mean(Device& device, Group& group, Vec vector) const {
  const float weight = this->weight();
  float* const v = vector.data();
  for_each(device, vector.size(), [=] MGCOMPARE_FUNCTION(std::size_t i) { v[i] *= weight; });
  group.all_reduce(vector);
}

inline void LocalSteps::save(Archive& archive) const {
  archive.put_value("samples since the meeting", samples_);
  archive.put_value("all ranks' samples since the meeting", all_samples_);
  archive.put_value("steps since the meeting", steps_);
}

inline void LocalSteps::restore(Archive& archive) {
  archive.get_value("samples since the meeting", samples_);
  archive.get_value("all ranks' samples since the meeting", all_samples_);
  archive.get_value("steps since the meeting", steps_);
}

}  // namespace mgcompare
