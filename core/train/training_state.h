#pragma once

// The state that the ranks of one training run share. Each rank is a thread; each phase of training has a file of its own.

#include <cstddef>
#include <vector>

#include "train/outcome.h"
#include "train/rank.h"
#include "train/training.h"
#include "train/training_phase.h"

namespace mgcompare {

struct TrainingState {
  // Throws Error for an option that the strategy rejects, and for traits that differ from the planned ones.
  explicit TrainingState(const TrainingRequest& request);

  // Waits for all ranks, then moves to the next phase (see PhaseBarrier).
  void enter(TrainingPhase next, std::size_t rank) { phases.enter(next, rank); }
  // Waits for all ranks within the present phase.
  void wait_for_ranks(std::size_t rank) { phases.wait(rank); }

  bool tracing() const { return !request.files.trace.empty(); }
  // Whether `request.most_steps` is reached. In lockstep all ranks agree; free-running ranks have no limit.
  bool out_of_steps() const { return request.most_steps != 0 && steps >= request.most_steps; }
  // Whether work may be captured and replayed without the host. Audits inspect every pass.
  bool may_capture() const { return !request.audit; }
  // Publishes the phase, between steps. No rank may be in a step.
  void publish(TrainingPhase phase);
  // Publishes that this rank begins a step, counted from 1, so that the furthest one is known after a crash.
  void mark(std::size_t rank, std::size_t step) {
    if (request.position != nullptr) request.position->advance({reported(phases.phase_of(rank)), epoch, step});
  }
  // Reports the progress of rank 0 and throws Interrupted if the user asked to stop. Does nothing on other ranks.
  void report_progress(std::size_t rank, std::size_t step, double loss);
  // After a wait for the ranks of this host, waits for those of the others within the present phase. Does nothing on one host.
  void meet_hosts(std::size_t rank);
  // Waits for all ranks of all hosts within the present phase.
  void wait_for_all(std::size_t rank) {
    wait_for_ranks(rank);
    meet_hosts(rank);
  }
  // The number of a rank of this process among all ranks.
  std::size_t global(std::size_t rank) const { return span.first + rank; }
  const std::vector<float>& initial_weights() const { return request.initial_weights != nullptr ? *request.initial_weights : drawn_weights; }
  // Moves what strategies on other hosts recorded to the first one. Called by rank 0 of every host.
  void gather_lines();
  // Throws Error if the strategy's traits are not those that were read at first.
  void check_traits(const Strategy& strategy) const;
  Result& result() { return outcome.result; }

  const TrainingRequest& request;
  const Trial& trial;
  const Config& config;
  const Dataset& data;
  NetworkSpec spec;
  std::vector<float> drawn_weights;  // until the training has begun
  Facts facts;
  TrialFacts trial_facts;
  TraitTexts traits_read;           // the strategy's answer at first
  bool free_pace = false, many_models = false;  // from the strategy's traits
  RankSpan span;
  std::vector<Rank> ranks;          // of this process
  PhaseBarrier phases;
  // Written by rank 0 only.
  std::size_t first_epoch = 0;
  std::size_t epoch = 0;            // the present or last one
  std::size_t steps = 0;
  double epoch_seconds = 0;         // of training, of the last epoch
  std::vector<EvaluationResult> evaluations;  // within the present epoch
  double evaluation_seconds = 0;    // of these
  double next_report = 0;
  TrainingOutcome outcome;
};

}  // namespace mgcompare
