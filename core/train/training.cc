#include "train/training.h"

#include <string>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/clock.h"
#include "train/epoch_training.h"
#include "train/outcome.h"
#include "train/rank_report.h"
#include "base/rank_threads.h"
#include "base/settings.h"
#include "train/warmup_phase.h"
#include "train/batch_scheduler.h"
#include "train/epoch_evaluation.h"
#include "train/setup.h"
#include "train/training_state.h"
#include "train/trial_checkpoint.h"

namespace mgcompare {
namespace {

class Training {
 public:
  explicit Training(const TrainingRequest& request) : state_(request) {}

  TrainingOutcome run() {
    run_ranks(state_.ranks.size(), [this](int rank) { run_rank(static_cast<std::size_t>(rank)); },
              [this] { setup_.abort(); }, state_.request.leave);
    return std::move(state_.outcome);
  }

 private:
  void run_rank(std::size_t rank) {
    LivePosition* const position = state_.request.position;
    const StepClock::ThreadScope of_thread(state_.ranks[rank].clock, position == nullptr ? nullptr : position->activity(state_.global(rank)));
    begin(rank);
    for (std::size_t epoch = state_.first_epoch; epoch < state_.config.epochs && !state_.out_of_steps(); ++epoch) {
      epochs_.begin(rank, epoch);
      while (!epochs_.run(rank, epoch)) evaluate_within_epoch(state_, setup_, rank, epochs_.share_made(rank));
      evaluate_epoch(state_, setup_, rank, epoch);
      checkpoint_.save(rank, epoch);
    }
    end(rank);
  }

  // From the setup to the start phase.
  void begin(std::size_t rank) {
    const double start = now();
    setup_.open(rank);
    state_.ranks[rank].settings = thread_settings();
    const double opened = now();
    // The speed of a check does not count.
    if (state_.config.measure.warm_up_steps > 0 && !state_.trial.control && !state_.trial.reference) warmup_.run(rank);
    const double warmed_up = now();
    setup_.prepare(rank, true);
    checkpoint_.restore(rank);
    // Orders of later epochs are drawn during the epochs before. Frameworks receive theirs before their clocks start, too.
    if (rank == 0) batches_.draw_ahead(state_.first_epoch);
    state_.ranks[rank].graph_steps = setup_.make_graph_steps(rank);
    setup_.sample_parts(rank);
    if (rank == 0) batches_.wait_for_order();
    state_.wait_for_ranks(rank);
    if (rank != 0) return;
    state_.drawn_weights = {};
    // Of this process only: the set-up of an interrupted one is not part of the trial.
    state_.result().seconds_warm_up = warmed_up - opened;
    state_.result().seconds_setup = now() - start - (warmed_up - opened);
  }

  void end(std::size_t rank) {
    Rank& own = state_.ranks[rank];
    own.compare_settings();
    state_.wait_for_ranks(rank);
    state_.enter(TrainingPhase::teardown, rank);
    state_.check_traits(*state_.ranks[rank].strategy);
    if (rank == 0) {
      const TrainingRequest& request = state_.request;
      if (!changed_.empty()) state_.result().changed_settings = changed_;
      for (const Rank& each : state_.ranks) state_.outcome.weights.push_back(each.settled_weights);
      state_.gather_lines();
      const std::vector<HostReport> reports = gather_reports(request.hosts, std::vector<HostReport>{host_report(state_)});
      if (!reports.empty()) conclude(state_.outcome, state_.ranks, merged(reports), state_.trial_facts, request.audit);
      if (state_.tracing()) write_trace();
    }
    state_.wait_for_all(rank);
    // Strategies hold memory of the devices: they are destroyed first, each on its rank's thread.
    state_.ranks[rank].graph_steps.reset();
    state_.ranks[rank].sampler.reset();
    state_.ranks[rank].strategy.reset();
    state_.wait_for_ranks(rank);
    if (rank == 0) state_.result().shared = setup_.release_shared_objects();
  }

  void write_trace() {
    std::vector<Trace> traces;
    for (const Rank& rank : state_.ranks) traces.push_back(rank.trace);
    const bool on_cpu = state_.trial.device_kind == DeviceKind::cpu;
    const std::string& name = state_.request.files.trace;
    try {
      write_in_subfolder(name, trace_json(row_name(state_.trial) + (on_cpu ? "" : " (host threads only)"), traces));
    } catch (const FileError& error) {
      state_.result().notes.push_back(std::string("the trace is missing: ") + error.what());
    }
  }

  const Settings before_ = thread_settings();
  TrainingState state_;
  // The strategy was asked for its traits on this thread, whose settings those of the ranks inherit.
  const std::string changed_ = changed_settings(before_, thread_settings());
  Setup setup_{state_};
  BatchScheduler batches_{state_};
  WarmupPhase warmup_{state_, setup_, batches_};
  EpochTraining epochs_{state_, setup_, batches_};
  TrialCheckpoint checkpoint_{state_};
};

}  // namespace

TrainingOutcome train(const TrainingRequest& request) { return Training(request).run(); }

}  // namespace mgcompare
