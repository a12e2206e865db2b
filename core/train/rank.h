#pragma once

// One rank of a trial in training.

#include <memory>
#include <vector>

#include "base/settings.h"
#include "measure/step_breakdown.h"
#include "measure/step_sampler.h"
#include "runtime/checkpoint.h"
#include "measure/epoch_steps.h"
#include "mgcompare/strategy.h"
#include "model/network.h"
#include "runtime/rank_group.h"
#include "runtime/rank_replica.h"
#include "runtime/graph_steps.h"
#include "results/result.h"
#include "measure/step_clock.h"
#include "measure/trace.h"
#include "measure/throughput_windows.h"

namespace mgcompare {

// The objects that one rank owns. They live until all ranks are done, because other ranks may access their memory.
struct Rank {
  // Starts or stops counting the strategy's traffic. The placement reports the traffic of steps only, not that of settle().
  void count_traffic(bool counting);
  // Whether calls return when their work is done, so that the host's clock measures all of it.
  bool host_sees_all() const { return device->kind() == DeviceKind::cpu; }

  std::unique_ptr<Device> device;
  std::unique_ptr<Network> network;
  std::unique_ptr<Feed> train_feed, test_feed;
  std::size_t evaluation_batch = 0; // samples of a pass of the evaluation
  std::unique_ptr<RankReplica> replica;
  std::unique_ptr<RankGroup> group;
  std::unique_ptr<Strategy> strategy;
  Trace trace;                      // of its first steps, if requested
  std::unique_ptr<GraphSteps> graph_steps;  // null if the host issues every step
  std::unique_ptr<StepSampler> sampler;     // of steps that the host issues; null on CPUs, and where steps are captured
  StepClock clock;
  StepBreakdown breakdown;          // of a step, on devices with a clock of their own: of the warm-up, then of the training
  std::size_t sample_every = 16;    // one of so many steps of the training, or replays of steps, is measured
  RankTimes step_times;             // of such a step, with waiting split from exchange
  RankTimes times;
  RankTimes sampled_times;          // the share of `times` of sampled_steps steps, which later samples correct
  double sampled_steps = 0;
  std::uint64_t bytes = 0;
  std::uint64_t exclusive_sections = 0;  // of the epoch
  LearnedSamples learned;           // of the epoch
  std::vector<double> step_seconds;
  EpochSteps steps;                 // of the epoch
  RankTimes rest_times;               // of rest() at the end of the epoch, if the host's clock does not see everything
  StepIntervals intervals;          // of rank 0
  Tally epoch_tally;                // of the epoch, during training
  Tally test_tally;                 // of the last evaluation
  std::vector<float> settled_weights;  // on the host, of the last epoch
  std::vector<float> evaluated_buffers;  // likewise, of rank 0
  Settings settings;                // of its thread, before there was a strategy
  std::string changed_settings;     // by the strategy
  std::uint64_t settled_fingerprint = 0;  // of the settled weights
  bool was_moved = false;           // settle() changed the live weights in the last epoch

  // Notes the settings of the calling thread, the rank's, that differ from those before there was a strategy.
  void compare_settings() {
    if (changed_settings.empty()) changed_settings = mgcompare::changed_settings(settings, thread_settings());
  }
};

// The state of a rank that training changes, for checkpoints. The strategy saves and restores its own part.
Blobs save_rank(Rank& rank);
void restore_rank(Rank& rank, Blobs& blobs);
// Throws Error unless the replica's work() is as it was before this function of the strategy.
void expect_same_work(const Rank& rank, std::uint64_t before, const char* function);

}  // namespace mgcompare
