#pragma once

// One rank of a trial in training.

#include <memory>
#include <vector>

#include "checkpoint.h"
#include "exchange_share.h"
#include "mgcompare/strategy.h"
#include "model/network.h"
#include "rank_group.h"
#include "rank_replica.h"
#include "recorded_steps.h"
#include "result.h"
#include "trace.h"
#include "windows.h"

namespace mgcompare {

// Everything that one rank owns. Kept until all ranks are done: others may look into its memory.
struct Rank {
  // What the strategy moves counts for its placement in steps only: closed while it settles.
  void keep_books(bool open);

  std::unique_ptr<Device> device;
  std::unique_ptr<Network> network;
  std::unique_ptr<Feed> train_feed, test_feed;
  std::unique_ptr<RankReplica> replica;
  std::unique_ptr<RankGroup> group;
  std::unique_ptr<Strategy> strategy;
  Trace trace;                      // of its first steps, where one is wanted
  std::unique_ptr<RecordedSteps> recorded;  // none where every step is the host's
  Recorder::ExchangeRecord exchanges;       // of a recorded step, in the rehearsal
  ExchangeShare of_recorded_step;
  std::size_t repeated_steps = 0;           // of the epoch, by the device
  RankTimes times;
  std::uint64_t bytes = 0;
  std::vector<double> step_seconds;
  Laps laps;                        // of rank 0
  double rest_seconds = 0;          // of the epoch: a strategy's work after its last step
  Tally epoch_tally;                // of the epoch as it was trained
  Tally evaluated;
  std::vector<float> settled;
};

// Everything of a rank that training changes. The strategy writes its own part.
Blobs save_rank(Rank& rank);
void restore_rank(Rank& rank, Blobs& blobs);

}  // namespace mgcompare
