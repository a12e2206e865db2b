#pragma once

// What came of one trial: one row. Times are seconds, sizes bytes. Every clock of a trial is here and none overlaps
// another; a throughput figure holds training only.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "results/placement.h"
#include "results/status.h"

namespace mgcompare {

struct EpochResult {
  double loss = 0;                  // mean training loss of the epoch
  double train_accuracy = 0;        // over the batches as they were trained
  double accuracy = 0;              // on all evaluated samples, after settle(); many models: their mean
  double seconds_training = 0;      // of this epoch
  double seconds_evaluation = 0;
};

// Seconds of one rank over all training epochs. Every moment counts for one part, the first of these that it is in. On CPU
// devices each step was measured; on GPUs some steps before the training were, and stand for all: only if those were like
// the training's do the parts sum to the training clock.
struct RankTimes {
  double compute = 0;               // forward, loss and backward
  double optimizer = 0;             // every optimiser's updates, on the device or the host
  double input = 0;                 // making batches of samples
  double exchange = 0;              // inside group calls and copies over a host link, moving or adding data
  double waiting = 0;               // until the other ranks came
  double strategy = 0;              // inside step(), and in none of the calls above: the strategy's own work
  double harness = 0;               // outside of step()
  double overlapped = 0;            // moving data beside compute: part of no sum

  double sum() const { return compute + optimizer + input + exchange + waiting + strategy + harness; }
  RankTimes& operator+=(const RankTimes& other);
  RankTimes& operator*=(double factor);
};

// A stretch of a trial: steps of rank 0, and what all ranks trained while it made them.
struct WindowResult {
  std::uint64_t steps = 0;
  double samples = 0;
  double seconds = 0;

  double samples_per_second() const { return seconds > 0 ? samples / seconds : 0; }
};

struct MetricResult {               // of one rank, over the trial
  double mean = 0, least = 0, most = 0, last = 0;
  std::uint64_t count = 0;
  std::vector<std::uint64_t> counts;  // of a histogram: how often 0, 1, 2 ... came; the last also holds what is larger
};

struct Result {
  TrialStatus status = TrialStatus::done;
  std::string cause;                // one sentence unless done ("step 12, loss is nan")
  std::vector<std::string> log;     // last lines of the worker where it failed

  std::vector<EpochResult> epochs;
  double accuracy = 0;              // after the last epoch
  double accuracy_spread = 0;       // many models: largest minus smallest
  double seconds_worker_start = 0;  // of the worker process, on its first trial; else 0
  double seconds_setup = 0;         // devices, network, data, strategy.start
  double seconds_warm_up = 0;
  double seconds_training = 0;      // all epochs
  double seconds_evaluation = 0;
  double seconds_checkpoint = 0;
  double seconds_to_target = 0;     // training seconds up to the epoch that reached the target; 0: not reached or none
  double step_seconds_median = 0;   // of rank 0
  double samples_per_second = 0;    // samples trained / seconds_training
  double harness_share = 0;         // time of rank 0 outside steps / seconds_training
  std::vector<WindowResult> windows;  // of the training, in order; none in a trial of fewer than 60 steps
  std::uint64_t samples = 0;        // trained, all epochs
  std::uint64_t steps = 0;          // of rank 0
  std::uint64_t updates = 0;        // of the model (of one of them, where there are many)
  double bytes_per_step = 0;        // payload sent by a rank in a step, mean over ranks
  std::uint64_t peak_memory = 0;    // high-water mark of the device allocators, largest over devices
  std::uint64_t parameters = 0;
  std::string weights_hash;         // SHA-256 of the settled weights, rank 0
  std::vector<RankTimes> ranks;
  bool compute_is_remainder = false;  // an older program's: compute is what its other clocks left of the steps
  std::vector<std::map<std::string, MetricResult>> metrics;  // a rank each
  std::map<std::string, std::string> traits;  // promise, pace, models, role
  std::vector<RankPlacement> placement;       // a rank each
  std::vector<std::string> notes;   // "batch norm is local: the promise is approximate", "oversubscribed"
};

// In JSON; the text alone is made several times faster than the tree.
std::string json_text(const Result& result);
void to_json(nlohmann::json& json, const Result& result);
void from_json(const nlohmann::json& json, Result& result);

}  // namespace mgcompare
