#include "rehearsal.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "clock.h"

namespace mgcompare {

// Where the steps' work becomes another, it is the last that most of the training does.
std::size_t Rehearsal::epoch() const {
  const std::vector<std::size_t>& stages = state_.trial_facts.traits.stages;
  if (stages.empty()) return 0;
  const std::size_t steps = state_.facts.steps_per_epoch;
  return std::min(state_.config.epochs - 1, (stages.back() + steps - 1) / steps);
}

// Full batches only, round and round.
Batch Rehearsal::batch_at(std::size_t rank, std::size_t step) const {
  const std::size_t samples = state_.data.train.samples, global_batch = state_.facts.global_batch;
  const std::size_t batches = samples / global_batch;
  const double rate = sampling_.rate_at(0, 0);
  Batch::Position at{epoch(), step, batches == 0 ? 0 : step % batches * global_batch,
                     std::min(global_batch, samples), rank, state_.ranks.size(), rate};
  if (state_.free) {
    const std::size_t begin = at.begin + Batch(at, state_.spec.sample_shape).size() * rank;
    at = {epoch(), step, begin, sampling_.draw_size(), 0, 1, rate};
  }
  at.begin = std::min(at.begin, samples - at.global_size);
  return Batch(at, state_.spec.sample_shape);
}

void Rehearsal::learn(std::size_t number, std::size_t step) {
  Rank& rank = state_.ranks[number];
  state_.say(number, "warm-up", 0, step, 0);
  const Batch batch = batch_at(number, step);
  rank.replica->begin_step(batch);
  rank.strategy->step(*rank.replica, *rank.group, batch);
}

void Rehearsal::learn_until_steady(std::size_t number, std::size_t step) {
  const Patience& patience = state_.config.measure.level == "thorough" ? kThoroughPatience : kNormalPatience;
  // Where not all steps issue the same work, rounds do.
  const auto period = static_cast<std::size_t>(std::max(1, state_.trial_facts.traits.repeats_every));
  const std::size_t steps = (patience.steps + period - 1) / period * period;
  if (number == 0) warm_up_ = WarmUp(now(), patience);
  do {
    state_.gate.wait();
    for (const std::size_t end = step + steps; step < end; ++step) learn(number, step);
    state_.ranks[number].device->synchronize();
    state_.gate.wait();
    if (number == 0) warm_up_.add(now());
    state_.gate.wait();
  } while (!warm_up_.is_over());
}

void Rehearsal::run(std::size_t number) {
  Rank& rank = state_.ranks[number];
  const MeasureConfig& measure = state_.config.measure;
  if (number == 0) sampling_.take_order(epoch());
  state_.gate.wait();
  sampling_.set_order(number);
  setup_.prepare(number, false);
  setup_.pace(false).enter(number, epoch());
  state_.gate.wait();
  std::unique_ptr<RecordedSteps> recorded = setup_.recorded_steps(number);
  const auto period = static_cast<std::size_t>(std::max(0, state_.trial_facts.traits.repeats_every));
  const std::size_t steps = std::max(measure.warm_up_steps, recorded == nullptr ? 0 : period);
  for (std::size_t step = 0; step < steps; ++step) learn(number, step);
  // In virtual time ranks must not wait for each other, and speed does not count.
  if (measure.level != "quick" && !(state_.free && state_.config.deterministic)) learn_until_steady(number, steps);
  if (state_.free) rank.strategy->rest(*rank.replica, *rank.group);
  setup_.pace(false).leave(number);
  if (recorded != nullptr && state_.ranks.size() > 1) {
    sampling_.begin_epoch(*recorded, number, epoch());
    rank.exchanges = recorded->time_exchanges();
  }
  rank.device->synchronize();
  state_.gate.wait();
  if (number == 0) share_exchanges();
  recorded.reset();
  rank.network->take_tally();
  rank.strategy.reset();
  rank.network->synchronize_batch_norm({});
  state_.gate.wait();
  if (number == 0) setup_.end_rehearsal();
  state_.gate.wait();
}

// What a recorded step spends on exchanges was timed for each rank; what of that is waiting, all of them tell together.
void Rehearsal::share_exchanges() {
  std::vector<Recorder::ExchangeRecord> records;
  for (const Rank& rank : state_.ranks) records.push_back(rank.exchanges);
  const std::vector<ExchangeShare> shares = split_exchanges(records);
  for (std::size_t k = 0; k < shares.size(); ++k) state_.ranks[k].of_recorded_step = shares[k];
}

}  // namespace mgcompare
