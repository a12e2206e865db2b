#pragma once

// One rank of a trial in training.

#include <memory>
#include <vector>

#include "measure/step_breakdown.h"
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

// Everything that one rank owns. Kept until all ranks are done: others may look into its memory.
struct Rank {
  // What the strategy moves counts for its placement in steps only: closed while it settles.
  void count_traffic(bool open);
  // Whether calls return when their work is done, so that the host's clock sees where the time goes.
  bool host_sees_all() const { return device->kind() == DeviceKind::cpu; }

  std::unique_ptr<Device> device;
  std::unique_ptr<Network> network;
  std::unique_ptr<Feed> train_feed, test_feed;
  std::unique_ptr<RankReplica> replica;
  std::unique_ptr<RankGroup> group;
  std::unique_ptr<Strategy> strategy;
  Trace trace;                      // of its first steps, where one is wanted
  std::unique_ptr<GraphSteps> recorded;  // none where every step is the host's
  StepClock clock;
  StepBreakdown reading;              // of a step, in the rehearsal, where devices have a clock of their own
  RankTimes of_step;                // what all ranks' readings say of this one's
  RankTimes times;
  std::uint64_t bytes = 0;
  std::vector<double> step_seconds;
  EpochSteps steps;                 // of the epoch
  RankTimes rest;                   // of the epoch: a strategy's work after its last step, where the host does not see all
  Laps laps;                        // of rank 0
  Tally epoch_tally;                // of the epoch as it was trained
  Tally evaluated;
  std::vector<float> settled;
};

// Everything of a rank that training changes. The strategy writes its own part.
Blobs save_rank(Rank& rank);
void restore_rank(Rank& rank, Blobs& blobs);

}  // namespace mgcompare
