#include "recorded_pass.h"

namespace mgcompare {

void RecordedPass::run(const Batch& batch, float factor, const std::function<void()>& pass) {
  const auto [found, first] = recordings_.try_emplace({batch.size(), factor});
  // Libraries may still allocate and choose in the first pass of a shape.
  if (first || batch.size() == 0) return pass();
  std::optional<std::size_t>& recording = found->second;
  if (!recording) {
    recorder_->begin();
    recorder_->begin_pass(batch.begin());
    pass();
    recording = recorder_->end();
  }
  recorder_->place(batch.begin(), batch.epoch());
  recorder_->repeat(*recording);
}

}  // namespace mgcompare
