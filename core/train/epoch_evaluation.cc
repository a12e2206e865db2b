#include "train/epoch_evaluation.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/fingerprint.h"
#include "results/weight_sketch.h"
#include "train/evaluation.h"
#include "train/rank_report.h"

namespace mgcompare {
namespace {

void copy_to(std::vector<float>& host, Rank& rank, Vec vector) {
  host.resize(vector.size());
  copy_to_host(*rank.device, Vec(host.data(), host.size()), vector);
  rank.device->synchronize();
}

std::vector<float> on_host(Rank& rank, Vec vector) {
  std::vector<float> values;
  copy_to(values, rank, vector);
  return values;
}

// Of GPUs by way of the memory for the settled weights, which are copied there later: fresh memory would cost more than the copy.
std::uint64_t live_fingerprint(Rank& rank) {
  const Vec weights = rank.replica->weights();
  if (rank.device->kind() == DeviceKind::cpu) return fingerprint({weights.data(), weights.size()});
  copy_to(rank.settled_weights, rank, weights);
  return fingerprint(rank.settled_weights);
}

// Remembers whether the ranks' copies are equal, and whether settle() left the live weights alone (outcome.cc).
Vec settled_weights(const TrainingState& state, Rank& rank, std::size_t epoch) {
  const std::uint64_t before = live_fingerprint(rank);
  const std::uint64_t work = rank.replica->work();
  const Vec settled = [&] {
    const StepClock::PhaseScope in(Phase::strategy, "settle");
    return rank.strategy->settle(*rank.replica, *rank.group);
  }();
  expect_same_work(rank, work, "settle()");
  if (settled.size() != state.spec.parameters)
    throw Error("settle() returned " + std::to_string(settled.size()) + " elements; the network has " +
                std::to_string(state.spec.parameters));
  const bool is_live = settled.data() == rank.replica->weights().data();
  const std::uint64_t after = is_live ? 0 : live_fingerprint(rank);
  copy_to(rank.settled_weights, rank, settled);
  // No loss follows the last update of an epoch, so only the weights show that it diverged.
  for (const float weight : rank.settled_weights)
    if (!std::isfinite(weight)) throw Diverged("after epoch " + std::to_string(epoch + 1) + ", weights are not finite");
  rank.settled_fingerprint = fingerprint(rank.settled_weights);
  rank.was_moved = (is_live ? rank.settled_fingerprint : after) != before;
  return settled;
}

void write(Rank& rank, Vec buffers, const std::vector<float>& values) {
  copy_to_device(*rank.device, buffers, ConstVec(values.data(), values.size()));
  rank.device->synchronize();
}

// With local batch normalisation each replica has statistics of its own. One model is evaluated with their mean.
void average_buffers(Rank& rank, std::size_t ranks, Collectives& collectives) {
  const Vec buffers = rank.network->buffers();
  collectives.all_reduce(rank.group->rank(), buffers.data(), buffers.size(), Type::float32);
  std::vector<float> mean = on_host(rank, buffers);
  for (float& value : mean) value /= static_cast<float>(ranks);
  write(rank, buffers, mean);
}

void evaluate_rank(TrainingState& state, Setup& setup, std::size_t number, std::size_t epoch, Vec settled) {
  Rank& rank = state.ranks[number];
  const std::size_t ranks = state.span.all, samples = state.data.test.samples;
  const Vec buffers = rank.network->buffers();
  const bool average = !state.many_models && ranks > 1 && buffers.size() > 0;
  std::vector<float> kept;
  if (average) {
    kept = on_host(rank, buffers);
    average_buffers(rank, ranks, setup.collectives());
  }
  if (number == 0) copy_to(rank.evaluated_buffers, rank, buffers);
  Range range = state.many_models ? Range{0, samples} : share(samples, state.global(number), ranks);
  if (state.request.most_steps != 0) range.end = std::min(range.end, range.begin + rank.evaluation_batch);
  rank.test_tally = evaluate(*rank.network, *rank.test_feed, range, rank.evaluation_batch, settled);
  if (!std::isfinite(rank.test_tally.loss))
    throw Diverged("after epoch " + std::to_string(epoch + 1) + ", loss of the evaluation is not finite");
  if (average) write(rank, buffers, kept);
}

void evaluate_ranks(TrainingState& state, Setup& setup, std::size_t number, std::size_t epoch, bool evaluates) {
  Rank& rank = state.ranks[number];
  state.report_progress(number, 0, 0);
  rank.count_traffic(false);
  const Vec settled = settled_weights(state, rank, epoch);
  state.wait_for_ranks(number);
  if (evaluates) evaluate_rank(state, setup, number, epoch, settled);
  state.wait_for_ranks(number);
}

void end_evaluation(TrainingState& state, std::size_t number) {
  state.ranks[number].count_traffic(true);
  state.wait_for_ranks(number);
}

// Of the next evaluation of the epoch. Of many, every n-th has one.
bool keeps_sketch(const TrainingState& state) {
  const auto all = static_cast<std::size_t>(1 / state.config.evaluate), every = all / EvaluationResult::kMostSketches + 1;
  return (state.evaluations.size() + 1) % every == 0;
}

}  // namespace

void evaluate_within_epoch(TrainingState& state, Setup& setup, std::size_t number, double epochs) {
  const double start = now();
  evaluate_ranks(state, setup, number, state.epoch, true);
  if (number == 0) {
    // On the first host only, the others have no result.
    const std::vector<RankEpoch> reports = gather_reports(state.request.hosts, rank_epochs(state.ranks));
    if (!reports.empty()) {
      EvaluationResult evaluation = evaluation_within(reports, state.trial_facts);
      evaluation.epochs = epochs;
      evaluation.seconds_training = state.epoch_seconds;
      if (keeps_sketch(state)) evaluation.sketch = sketch_of(state.ranks[0].settled_weights);
      state.evaluations.push_back(std::move(evaluation));
    }
    state.evaluation_seconds += now() - start;
  }
  end_evaluation(state, number);
}

void evaluate_epoch(TrainingState& state, Setup& setup, std::size_t number, std::size_t epoch) {
  const bool evaluates = state.request.evaluate;
  const double start = now();
  evaluate_ranks(state, setup, number, epoch, evaluates);
  if (number == 0) {
    const std::vector<RankEpoch> reports = gather_reports(state.request.hosts, rank_epochs(state.ranks));
    if (!reports.empty())
      add_epoch(state.result(), reports, state.ranks[0], state.trial_facts, evaluates && state.request.most_steps == 0, state.epoch_seconds,
                std::exchange(state.evaluation_seconds, 0.0) + now() - start, std::exchange(state.evaluations, {}));
  }
  end_evaluation(state, number);
}

}  // namespace mgcompare
