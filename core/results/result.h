#pragma once

// The result of one trial: one row. Times are seconds, sizes bytes. It has every clock of the trial; no two overlap.
// Throughput counts training time only.

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "results/exchange_call.h"
#include "results/placement.h"
#include "results/status.h"

namespace mgcompare {

// The program's own name where rows of several frameworks are told apart: what trained the rows of strategies.
inline constexpr char kOwnFramework[] = "mgcompare";

// Within an epoch, between two steps.
struct EvaluationResult {
  double epochs = 0;                // share of the epoch that was trained
  double seconds_training = 0;      // of the epoch so far
  double accuracy = 0;              // this and the others: as those of an epoch
  std::string sketch;               // of at most kMostSketches evaluations of an epoch
  std::uint64_t ranks_apart = 0, ranks_moved = 0;

  static constexpr std::size_t kMostSketches = 16;
};

struct EpochResult {
  double loss = 0;                  // mean training loss of the epoch
  double train_accuracy = 0;        // on the training batches, before each update
  double accuracy = 0;              // on all evaluated samples, after settle(); with many models their mean
  double test_loss = std::numeric_limits<double>::quiet_NaN();  // likewise, mean; not a number: not known, in results of older versions
  std::vector<EvaluationResult> evaluations;  // before its end, in order
  double seconds_training = 0;      // of this epoch
  double seconds_evaluation = 0;
  double seconds_reported = 0;      // of a backend: the training by its own clock; 0: the clock is the program's
  // Of a backend: from the request to its weights, less the training; and its processor time, by device, between the weights of the epoch before
  // and the request.
  double seconds_unclocked = 0;
  std::string sketch;               // of the settled weights of rank 0 (weight_sketch.h)
  std::string statistics_sketch;    // likewise, of the statistics of batch normalisation; empty if there is none
  std::uint64_t ranks_apart = 0;    // ranks whose settled weights have other bits than those of rank 0, in any evaluation of the epoch
  std::uint64_t repeats_samples = 0;  // 1: as many samples as there are, but some again in place of others
  std::uint64_t ranks_moved = 0;    // ranks whose live weights had other bits after settle() than before, likewise
};

// Seconds of one rank over all training epochs. Every moment counts for one part: the first in this list that applies. On
// CPU devices every step is measured. On GPUs some steps are measured and extrapolated to all steps, so the parts sum to the
// training clock only if these were like the others.
struct RankTimes {
  double compute = 0;               // forward, loss and backward
  double optimizer = 0;             // updates of all optimisers, on the device or the host
  double input = 0;                 // making batches of samples
  double exchange = 0;              // group calls and copies over a host link: transfer and reduction
  double waiting = 0;               // for other ranks
  double strategy = 0;              // inside step() outside the calls above: the strategy's own work
  double harness = 0;               // outside of step()
  double overlapped = 0;            // transfer that overlaps compute; not in sum()

  double sum() const { return compute + optimizer + input + exchange + waiting + strategy + harness; }
  RankTimes& operator+=(const RankTimes& other);
  RankTimes& operator*=(double factor);
};

// A throughput window: consecutive steps of rank 0, and the samples that all ranks trained in that time.
struct WindowResult {
  std::uint64_t steps = 0;
  double samples = 0;
  double seconds = 0;

  double samples_per_second() const { return seconds > 0 ? samples / seconds : 0; }
};

// A metric that the strategy recorded, of one rank over the trial.
struct MetricResult {
  double mean = 0, least = 0, most = 0, last = 0;
  std::uint64_t count = 0;
  std::vector<std::uint64_t> counts;  // of a histogram: how often 0, 1, 2 ... occurred; the last counts larger values too
};

struct Result {
  TrialStatus status = TrialStatus::done;
  std::string cause;                // one sentence unless done ("step 12, loss is nan")
  std::vector<std::string> log;     // last lines of the worker's output if the trial failed

  std::vector<EpochResult> epochs;
  double accuracy = 0;              // after the last epoch
  double accuracy_spread = 0;       // many models: largest minus smallest
  double seconds_worker_start = 0;  // of the worker process, in its first trial; otherwise 0
  double seconds_setup = 0;         // devices, network, data, strategy.start
  double seconds_warm_up = 0;
  double seconds_training = 0;      // all epochs
  double seconds_evaluation = 0;
  double seconds_checkpoint = 0;
  double seconds_to_target = 0;     // training seconds until the target (target_crossing.h); 0: it was not reached
  double step_seconds_median = 0;   // of rank 0
  double samples_per_second = 0;    // samples trained / seconds_training
  double harness_share = 0;         // time of rank 0 outside of steps / seconds_training
  std::vector<WindowResult> windows;  // of the training, from the strategy's last stage on, in order; none if that has fewer than 60 steps
  std::uint64_t samples = 0;        // trained in all epochs
  std::uint64_t samples_due = 0;    // training samples times epochs; 0: not known, in results of older versions
  std::int64_t samples_ignored = 0; // of `samples`, those without a backward pass, or whose gradient nothing read
  // Of an exact strategy where passes change statistics of batch normalisation: samples that passed forward without a backward pass.
  std::uint64_t samples_only_passed = 0;
  std::uint64_t samples_judged_again = 0;  // for which the strategy computed a loss beside that of the epoch, which its mean includes
  std::uint64_t samples_evaluated = 0;  // of the test set, after every epoch; 0: not known, in results of older versions
  std::uint64_t steps = 0;          // of rank 0
  std::uint64_t updates = 0;        // of the model; with many models, of one of them
  double bytes_per_step = 0;        // payload that a rank sends per step, mean over ranks
  // Processor time in training, of threads that are not ranks and of processes that were started.
  double seconds_other_threads = std::numeric_limits<double>::quiet_NaN();
  double seconds_stood_still = 0;   // of the training, in which the worker was stopped (base/standstill.h); of several hosts, that of the first
  double seconds_rank_threads = 0;  // processor time of the ranks' threads, in training; 0: not known, in results of older versions
  std::uint64_t exclusive_sections = 0;  // of the strategy, all ranks, in training
  std::string changed_settings;     // of the ranks' threads or of the process, by the strategy: "the priority and the rounding mode"
  std::vector<Kept> shared;         // objects that the ranks share (Group::shared)
  std::uint64_t fitting_batch = 0;  // out of memory: the largest batch that was found to fit, as in `scaling.batch`; 0: none, or not known
  std::uint64_t peak_memory = 0;    // peak of the device allocator, maximum over devices
  std::uint64_t parameters = 0;
  std::string weights_hash;         // SHA-256 of the settled weights, rank 0
  std::string record_sha256;        // of the record of the schedule (measure.record); empty: none, or not known
  std::vector<RankTimes> ranks;
  // Of a rehearsal, on devices with a clock of their own: the exchanges of exchange_call_steps steps, which took no time.
  std::vector<ExchangeCall> exchange_calls;
  std::uint64_t exchange_call_steps = 0;
  double seconds_late = 0;          // of a rehearsal: by how much the last of so many ranks would be later than the mean one, per step (lateness.h)
  bool compute_is_remainder = false;  // written by schema 1: compute is the step time less the other clocks
  std::vector<std::map<std::string, MetricResult>> metrics;  // by rank
  std::map<std::string, std::string> traits;  // promise, pace, models, role
  std::vector<RankPlacement> placement;       // by rank
  // Of a backend's trial; empty for a strategy, and in results of older versions.
  std::string framework, framework_version;  // what trained, with its version
  std::string like;                 // the strategy that computes in the same way on so many devices; empty: none is known
  std::map<std::string, std::string> versions;  // all that the backend gave, by name
  std::vector<std::string> notes;   // "batch norm is local: the promise is approximate", "oversubscribed"
};

// False for a trial that failed before it trained a sample, or whose figures were lost with its process: its zeros are no figures.
bool has_figures(const Result& result);
// Of its traits; false if it is not known.
bool has_trait(const Result& result, const std::string& key, std::string_view value);
// Of all clocks of the trial.
double total_seconds(const Result& result);
// Of all shared objects.
double shared_bytes(const Result& result);

// As JSON. Writing the text directly is several times faster than building a tree.
std::string json_text(const Result& result);
void to_json(nlohmann::json& json, const Result& result);
void from_json(const nlohmann::json& json, Result& result);

}  // namespace mgcompare
