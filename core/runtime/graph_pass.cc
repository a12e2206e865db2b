#include "runtime/graph_pass.h"

#include "measure/step_clock.h"

namespace mgcompare {

GraphPass::GraphPass(std::unique_ptr<GraphRecorder> recorder, std::function<void(const Sample&)> pass,
                     const std::vector<Sample>& seen)
    : recorder_(std::move(recorder)), pass_(std::move(pass)) {
  for (const Sample& sample : seen) seen_.try_emplace(shape_of(sample), Seen{sample, {}});
}

GraphPass::Shape GraphPass::shape_of(const Sample& sample) {
  const Batch& batch = sample.batch;
  return {batch.size(), sample.scale == Scale::global_batch ? batch.global_size() : batch.size()};
}

void GraphPass::run(const Sample& sample) {
  if (sample.batch.size() == 0) return pass_(sample);
  const auto& [_, seen] = *seen_.try_emplace(shape_of(sample), Seen{sample, {}}).first;
  if (!seen.graph) return pass_(sample);
  recorder_->place(sample.batch.begin(), sample.batch.epoch());
  recorder_->repeat(*seen.graph);
}

void GraphPass::capture() {
  const StepClock::PauseScope paused;
  for (auto& [_, seen] : seen_) {
    if (seen.graph) continue;
    recorder_->begin();
    recorder_->begin_pass(seen.sample.batch.begin());
    pass_(seen.sample);
    seen.graph = recorder_->end();
  }
}

std::vector<GraphPass::Sample> GraphPass::seen() const {
  std::vector<Sample> samples;
  for (const auto& [_, seen] : seen_) samples.push_back(seen.sample);
  return samples;
}

}  // namespace mgcompare
