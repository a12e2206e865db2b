#include "train/batch_scheduler.h"

#include <algorithm>

#include "base/clock.h"
#include "model/schedule.h"

namespace mgcompare {
namespace {

// Each batch keeps its samples, so that only the order in which they are summed differs.
void reverse_batches(std::vector<std::uint32_t>& order, std::size_t batch) {
  for (std::size_t begin = 0; begin < order.size(); begin += batch) {
    const std::size_t end = std::min(order.size(), begin + batch);
    std::reverse(order.begin() + static_cast<std::ptrdiff_t>(begin), order.begin() + static_cast<std::ptrdiff_t>(end));
  }
}

}  // namespace

void BatchScheduler::draw_ahead(std::size_t epoch) {
  if (epoch < state_.config.epochs) orders_.draw_ahead(epoch);
}

void BatchScheduler::take_order(std::size_t epoch) {
  const double start = now();
  std::vector<std::uint32_t>& order = orders_.take(epoch);
  if (state_.trial.control) reverse_batches(order, state_.facts.global_batch);
  order_ = {order.data(), order.size()};
  seconds_taking_ = now() - start;
}

void BatchScheduler::set_order(std::size_t rank) const {
  state_.ranks[rank].train_feed->set_order(order_);
}

Batch BatchScheduler::batch_at(std::size_t rank, std::size_t epoch, std::size_t step) const {
  const std::size_t begin = step * state_.facts.global_batch;
  const std::size_t size = std::min(state_.facts.global_batch, state_.data.train.samples - begin);
  return Batch({epoch, step, begin, size, state_.global(rank), state_.span.all, rate_at(epoch, begin)}, state_.spec.sample_shape);
}

void BatchScheduler::begin_epoch(GraphSteps& graph_steps, std::size_t rank, std::size_t epoch) const {
  graph_steps.begin_epoch(epoch, state_.facts.steps_per_epoch, state_.data.train.samples / state_.facts.global_batch,
                          [this, rank, epoch](std::size_t step) { return batch_at(rank, epoch, step); });
}

std::size_t BatchScheduler::draw_size() const {
  return std::clamp<std::size_t>(state_.facts.global_batch / state_.span.all, 1, state_.data.train.samples);
}

double BatchScheduler::rate_at(std::size_t epoch, std::size_t sample) const {
  const Config& config = state_.config;
  const double passed =
      static_cast<double>(epoch) + static_cast<double>(sample) / static_cast<double>(state_.data.train.samples);
  return learning_rate_at(config.optimizer, config.schedule, passed, config.epochs, state_.facts.global_batch);
}

}  // namespace mgcompare
