#include "runtime/rank_replica.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <string>

#include <fmt/format.h>

#include "base/shape.h"
#include "measure/step_clock.h"
#include "mgcompare/error.h"
#include "runtime/timed_optimizer.h"

namespace mgcompare {
namespace {

constexpr std::uint64_t kMaxBin = 255;  // of a histogram; larger values count there

constexpr std::size_t kLongestName = 100, kMostNames = 1000;  // of figures

// Results and reports have each name.
template <class Map> void check_name(std::string_view name, const Map& known) {
  if (name.size() > kLongestName) {
    throw Error(fmt::format("the name of a figure has {} bytes, and may have {}: '{}...'", name.size(), kLongestName,
                            name.substr(0, kLongestName)));
  }
  if (known.size() >= kMostNames && !known.contains(std::string(name)))
    throw Error(fmt::format("a rank records more than {} figures of different names, such as '{}'", kMostNames, name));
}

template <class Operation>
RankReplica::Counts combined(const RankReplica::Counts& one, const RankReplica::Counts& other, Operation with) {
  RankReplica::Counts result{one.updates, with(one.learned, other.learned)};
  for (std::size_t i = 0; i < result.updates.size(); ++i)
    result.updates[i] = {with(one.updates[i].made, other.updates[i].made), with(one.updates[i].forgotten, other.updates[i].forgotten)};
  return result;
}

}  // namespace

// An optimiser that the strategy asked for. The replica keeps it too, for its update count, the checkpoint and the audit.
class RankReplica::StrategyOptimizer {
 public:
  StrategyOptimizer(std::unique_ptr<Optimizer> optimizer, Device& device, bool on_host, std::size_t size, bool audited)
      : optimizer_(std::move(optimizer)), device_(device), on_host_(on_host), size_(size), applied_(audited ? size : 0) {}

  class Handle : public TimedOptimizer {
   public:
    explicit Handle(std::shared_ptr<StrategyOptimizer> shared)
        : TimedOptimizer(*shared->optimizer_, shared->size_, shared->calls_, shared->on_host_), shared_(std::move(shared)) {}
    void apply(Vec weights, ConstVec gradients, Range range, const Batch& batch, double rate_scale) override {
      if (!shared_->applied_.empty()) shared_->audit(gradients, range, rate_scale);
      TimedOptimizer::apply(weights, gradients, range, batch, rate_scale);
    }

   private:
    std::shared_ptr<StrategyOptimizer> shared_;
  };

  CountedOptimizer& counted() { return dynamic_cast<CountedOptimizer&>(*optimizer_); }
  bool on_host() const { return on_host_; }
  const GradientSums& applied() const { return applied_; }
  std::uint64_t calls() const { return calls_; }
  const RateRange& rates() const { return rates_; }

 private:
  void audit(ConstVec gradients, Range range, double rate_scale) {
    applied_.add(device_, gradients, range, on_host_);
    const std::lock_guard lock(rates_mutex_);
    rates_.add(rate_scale);
  }

  std::unique_ptr<Optimizer> optimizer_;
  std::atomic<std::uint64_t> calls_{0};  // several ranks may share a host vector
  Device& device_;
  bool on_host_;
  std::size_t size_;
  GradientSums applied_;
  std::mutex rates_mutex_;          // ranks may update disjoint ranges at the same time
  RateRange rates_;
};

RankReplica::RankReplica(const ReplicaParts& parts)
    : parts_(parts), device_(*parts.device),
      optimizer_(parts.platform->optimizer(*parts.device, *parts.optimizer, parts.spec->parts)),
      shown_optimizer_(std::make_unique<TimedOptimizer>(*optimizer_, parts_.spec->parameters, updates_made_)),
      // Allocated here: an allocation in the first step could wait for a collective that waits for this rank.
      dlogits_(*parts.device, parts.largest_batch * parts.network->outputs()) {
  if (!parts_.audit) return;
  pushed_ = applied_ = GradientSums(parts_.spec->parameters);
  seen_.assign(parts_.feed->samples(), 0);
}

RankReplica::~RankReplica() = default;

void RankReplica::begin_step(const Batch& batch) {
  if (asked_in_step_of_pass()) unread_samples_ = 0;
  passed_in_step_ = false;
  batch_ = batch;
  updated_in_step_ = false;
  ++issued_steps_;
  asked_at_step_ = gradients_asked_;
}

float RankReplica::factor(const Batch& batch, Scale scale) const {
  const std::size_t samples = scale == Scale::global_batch ? batch.global_size() : batch.size();
  return samples == 0 ? 0.0f : 1.0f / static_cast<float>(samples);
}

Optimizer& RankReplica::optimizer() {
  ++updates_asked_;
  return *shown_optimizer_;
}

// The work of a callback counts for the strategy.
Ready RankReplica::timed(const Ready& ready) {
  if (!ready) return {};
  return [this, &ready](Vec slice) {
    if (parts_.audit) add_shown(slice);
    const StepClock::PhaseScope in(Phase::strategy);
    ready(slice);
  };
}

void RankReplica::add_shown(Vec slice) {
  const ConstVec all = parts_.network->gradients();
  const auto begin = static_cast<std::size_t>(slice.data() - all.data());
  pushed_.add(*parts_.device, all, {begin, begin + slice.size()}, false);
  was_audited_ = true;
}

// Dropout and the augmentation of samples depend on it.
void RankReplica::expect_own_epoch(const Batch& batch) const {
  if (!batch_ || batch.epoch() == batch_->epoch()) return;
  throw Error(fmt::format("a pass in epoch {} got a batch of epoch {}; augmentation and dropout depend on the epoch: give it the batch of the step",
                          batch_->epoch() + 1, batch.epoch() + 1));
}

void RankReplica::backward(const Batch& batch, const Ready& ready, Scale scale) {
  expect_own_epoch(batch);
  const StepClock::PhaseScope in(Phase::compute);
  before_backward();
  learned_.passed += batch.size();
  // `ready` is host code, so such a pass cannot be replayed.
  if (graph_pass_ && !ready) graph_pass_->run({batch, scale});
  else pass(batch, ready, scale);
  after_backward(batch.begin(), batch.size(), static_cast<bool>(ready));
}

void RankReplica::pass(const Batch& batch, const Ready& ready, Scale scale) {
  const Vec logits = pass_forward(batch);
  if (dlogits_.size() < logits.size()) dlogits_ = Array<float>(*parts_.device, logits.size());
  const Vec dlogits = dlogits_.span().slice({0, logits.size()});
  loss(batch, logits, dlogits, scale);
  parts_.network->backward(dlogits, timed(ready), share_);
}

void RankReplica::enable_graph_passes(std::unique_ptr<GraphRecorder> recorder, const std::vector<GraphPass::Sample>& seen) {
  graph_pass_.emplace(
      std::move(recorder), [this](const GraphPass::Sample& one) { pass(one.batch, {}, one.scale); }, seen);
}

std::vector<GraphPass::Sample> RankReplica::seen_passes() const {
  return graph_pass_ ? graph_pass_->seen() : std::vector<GraphPass::Sample>();
}

void RankReplica::capture_passes() {
  if (graph_pass_) graph_pass_->capture();
}

Vec RankReplica::forward(const Batch& batch) {
  learned_.passed += batch.size();
  return pass_forward(batch);
}

Vec RankReplica::forward(const Batch& batch, ConstVec inputs) {
  if (inputs.size() != batch.size() * this->inputs()) {
    throw Error(fmt::format("forward() got {} inputs for {} samples of {} values each: give it {}", inputs.size(), batch.size(), this->inputs(),
                            batch.size() * this->inputs()));
  }
  learned_.passed += batch.size();
  return pass_forward(batch, inputs);
}

std::size_t RankReplica::inputs() const { return values_in(parts_.feed->sample_shape()); }

void RankReplica::read(const Batch& batch, Vec to) {
  expect_own_epoch(batch);
  const StepClock::PhaseScope in(Phase::input);
  if (to.size() != batch.size() * inputs()) {
    throw Error(fmt::format("read() got room for {} values, and {} samples have {} each: give it {}", to.size(), batch.size(), inputs(),
                            batch.size() * inputs()));
  }
  parts_.feed->read(batch.begin(), batch.size(), {true, parts_.seed, batch.epoch()}, to);
}

Vec RankReplica::pass_forward(const Batch& batch, ConstVec inputs) {
  expect_own_epoch(batch);
  StepClock::PhaseScope in(Phase::compute);
  forward_begin_ = batch.begin(), forward_size_ = batch.size();
  const double reading = parts_.feed->seconds();
  const Vec logits = parts_.network->forward(*parts_.feed, batch.begin(), batch.size(), {true, parts_.seed, batch.epoch(), inputs});
  in.began_with(Phase::input, parts_.feed->seconds() - reading);
  return logits;
}

void RankReplica::loss(const Batch& batch, ConstVec logits, Vec dlogits, Scale scale) {
  const StepClock::PhaseScope in(Phase::compute);
  share_ = scale == Scale::global_batch || batch.global_size() == 0
               ? 1.0f
               : static_cast<float>(batch.size()) / static_cast<float>(batch.global_size());
  parts_.network->loss(*parts_.feed, batch.begin(), batch.size(), logits, dlogits, factor(batch, scale));
}

void RankReplica::backward_from(const Batch&, ConstVec dlogits, const Ready& ready) {
  const StepClock::PhaseScope in(Phase::compute);
  before_backward();
  parts_.network->backward(dlogits, timed(ready), share_);
  after_backward(forward_begin_, forward_size_, static_cast<bool>(ready));
}

std::uint64_t RankReplica::calls() const {
  std::uint64_t calls = updates_asked_ + device_.calls() + parts_.group->calls();
  for (const auto& optimizer : optimizers_) calls += optimizer->calls();
  return calls;
}

std::uint64_t RankReplica::work() const {
  std::uint64_t work = learned_.passed + learned_.computed + updates_made_;
  for (const auto& optimizer : optimizers_) work += optimizer->calls();
  return work;
}

// The pass overwrites the last gradient. A strategy that asked for gradients() in the step of that pass may have read it by
// itself.
void RankReplica::before_backward() {
  if (!asked_in_step_of_pass() && calls() == calls_at_pass_) learned_.unread += unread_samples_;
  unread_samples_ = 0;
}

void RankReplica::after_backward(std::size_t begin, std::size_t size, bool was_shown) {
  learned_.learn(begin, size);
  unread_samples_ = was_shown ? 0 : size;
  passed_in_step_ = true;
  calls_at_pass_ = calls();
  if (parts_.audit) {
    // Slices that the strategy was shown have been added before it could change them.
    if (!std::exchange(was_audited_, false)) pushed_.add(*parts_.device, parts_.network->gradients(), {0, parts_.spec->parameters}, false);
    for (std::size_t i = begin; i < begin + size; ++i) ++seen_[i];
  }
  parts_.context->scheduler().spend(parts_.rank, static_cast<double>(size));
}

void RankReplica::update(Range range) {
  expect_within(range, parts_.spec->parameters);
  ++updates_asked_;
  ++updates_made_;
  const StepClock::PhaseScope in(Phase::optimizer);
  if (!updated_in_step_) optimizer_->advance();
  updated_in_step_ = true;
  if (parts_.audit) applied_.add(*parts_.device, parts_.network->gradients(), range, false);
  optimizer_->apply(weights(), parts_.network->gradients(), range, *batch_);
}

std::unique_ptr<Optimizer> RankReplica::add_optimizer(std::unique_ptr<Optimizer> optimizer, bool on_host) {
  optimizers_.push_back(std::make_shared<StrategyOptimizer>(std::move(optimizer), *parts_.device, on_host, parts_.spec->parameters, parts_.audit));
  return std::make_unique<StrategyOptimizer::Handle>(optimizers_.back());
}

std::unique_ptr<Optimizer> RankReplica::host_optimizer(bool plain) {
  // Memory of a CPU device is host memory.
  Device* const memory = parts_.device->kind() == DeviceKind::cpu ? parts_.device : nullptr;
  return add_optimizer(make_host_optimizer(optimizer_config(plain), parts_.spec->parts, memory), true);
}

std::unique_ptr<Optimizer> RankReplica::device_optimizer(bool plain) {
  return add_optimizer(parts_.platform->optimizer(*parts_.device, optimizer_config(plain), parts_.spec->parts), false);
}

OptimizerConfig RankReplica::optimizer_config(bool plain) const {
  OptimizerConfig config = *parts_.optimizer;
  if (plain) config.momentum = 0, config.nesterov = false;
  return config;
}

void RankReplica::metric(std::string_view name, double value) {
  check_name(name, metrics_);
  MetricResult& metric = metrics_[std::string(name)];
  metric.least = metric.count == 0 ? value : std::min(metric.least, value);
  metric.most = metric.count == 0 ? value : std::max(metric.most, value);
  metric.last = value;
  ++metric.count;
  metric.mean += (value - metric.mean) / static_cast<double>(metric.count);
}

void RankReplica::histogram(std::string_view name, std::uint64_t value) {
  metric(name, static_cast<double>(value));
  std::vector<std::uint64_t>& counts = metrics_[std::string(name)].counts;
  const std::size_t at = std::min<std::uint64_t>(value, kMaxBin);
  if (at >= counts.size()) counts.resize(at + 1);
  ++counts[at];
}

void RankReplica::record(std::string_view name, const std::vector<double>& figures) {
  if (lines_ == nullptr) return;
  check_name(name, *lines_);
  (*lines_)[std::string(name)].push_back(figures);
}

Random RankReplica::random(std::uint64_t stream) const {
  return Random(parts_.seed, (static_cast<std::uint64_t>(parts_.rank + 1) << 40) ^ stream);
}

std::uint64_t RankReplica::own_updates() const { return dynamic_cast<CountedOptimizer&>(*optimizer_).updates().made; }

std::uint64_t RankReplica::strategy_updates() const {
  std::uint64_t updates = 0;
  for (const auto& optimizer : optimizers_) updates += optimizer->counted().updates().made;
  return updates;
}

std::uint64_t RankReplica::strategy_state_bytes(bool on_host) const {
  std::uint64_t bytes = 0;
  for (const auto& optimizer : optimizers_) {
    if (optimizer->on_host() != on_host) continue;
    for (const Vec state : optimizer->counted().state()) bytes += state.bytes();
  }
  return bytes;
}

RankReplica::Counts RankReplica::Counts::operator+(const Counts& other) const { return combined(*this, other, std::plus<>()); }

RankReplica::Counts RankReplica::Counts::operator-(const Counts& other) const { return combined(*this, other, std::minus<>()); }

RankReplica::Counts RankReplica::Counts::moved(std::uint64_t distance) const { return {updates, learned.moved(distance)}; }

RankReplica::Counts RankReplica::counts() const {
  Counts counts{{dynamic_cast<CountedOptimizer&>(*optimizer_).updates()}, learned_};
  for (const auto& optimizer : optimizers_) counts.updates.push_back(optimizer->counted().updates());
  return counts;
}

void RankReplica::set_counts(const Counts& counts) {
  learned_ = counts.learned;
  dynamic_cast<CountedOptimizer&>(*optimizer_).set_updates(counts.updates[0]);
  for (std::size_t i = 0; i < optimizers_.size(); ++i) optimizers_[i]->counted().set_updates(counts.updates[i + 1]);
}

std::vector<RankReplica::Saved> RankReplica::state() {
  std::vector<Saved> saved = {{"weights", weights(), false, nullptr}, {"buffers", buffers(), false, nullptr}};
  const auto add = [&](const std::string& name, CountedOptimizer& optimizer, bool on_host) {
    std::size_t number = 0;
    for (const Vec vector : optimizer.state()) saved.push_back({name + "/" + std::to_string(number++), vector, on_host, nullptr});
    saved.push_back({name + "/updates", {}, true, &optimizer});
  };
  add("optimizer", dynamic_cast<CountedOptimizer&>(*optimizer_), false);
  for (std::size_t i = 0; i < optimizers_.size(); ++i)
    add("made" + std::to_string(i), optimizers_[i]->counted(), optimizers_[i]->on_host());
  return saved;
}

GradientSums RankReplica::applied() const {
  GradientSums all = applied_;
  for (const auto& optimizer : optimizers_) all += optimizer->applied();
  return all;
}

RateRange RankReplica::rates() const {
  RateRange all;
  for (const auto& optimizer : optimizers_) all.add(optimizer->rates());
  return all;
}

}  // namespace mgcompare
