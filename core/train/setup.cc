#include "train/setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "measure/processor_time.h"
#include "modules/strategy_options.h"
#include "runtime/rehearsed_collectives.h"
#include "train/evaluation.h"

namespace mgcompare {

void Setup::abort() {
  state_.phases.abort();
  if (state_.request.hosts.transport != nullptr) state_.request.hosts.transport->abort();
  const std::lock_guard lock(mutex_);
  for (CommContext* const context : {warmup_.get(), live_.get()})
    if (context != nullptr) context->abort();
}

void Setup::open(std::size_t number) {
  state_.report_progress(number, 0, 0);
  Rank& rank = state_.ranks[number];
  Platform& platform = *state_.request.platform;
  const Config& config = state_.config;
  const Dataset& data = state_.data;
  rank.device = platform.open(state_.trial.index_of(number / state_.trial.ranks_per_device));
  rank.network = platform.build(*rank.device, state_.spec, state_.request.numerics);
  const std::size_t step = state_.facts.global_batch / state_.span.all + 1;
  rank.evaluation_batch = state_.request.evaluate ? evaluation_batch(state_.spec, step) : 0;
  rank.network->reserve(std::max(step, rank.evaluation_batch));
  const bool on_host = config.data.on == DataLocation::host;
  const Preparation preparation = preparation_of(config.data.prepare, as_read(data.spec, state_.spec));
  rank.train_feed = platform.upload(*rank.device, data.spec, data.train, preparation, on_host);
  rank.test_feed = platform.upload(*rank.device, data.spec, data.test, preparation, on_host);
  std::vector<std::uint32_t> identity(data.test.samples);
  std::iota(identity.begin(), identity.end(), 0u);
  rank.test_feed->set_order({identity.data(), identity.size()});
  if (number == 0 && state_.request.initial_weights == nullptr) state_.drawn_weights = initial_weights(state_.spec, state_.trial.seed);
  state_.wait_for_ranks(number);
  if (number == 0) {
    std::vector<Device*> devices;
    for (const Rank& each : state_.ranks) devices.push_back(each.device.get());
    connect(devices);
    platform.reset_peak_memory();
    const std::lock_guard lock(mutex_);
    warmup_ = make_context(false);
    live_ = make_context(true);
  }
  state_.wait_for_ranks(number);
}

void Setup::connect(const std::vector<Device*>& devices) {
  const HostSpan& hosts = state_.request.hosts;
  // The platform's library may send by threads of its own, and no strategy exists yet.
  const NewServiceThreads registered;
  if (state_.trial.rehearsal) {
    collectives_ = std::make_unique<RehearsedCollectives>(*devices.front());
    return;
  }
  collectives_ = hosts.count == 1 ? state_.request.platform->connect(devices)
                                  : state_.request.platform->connect_hosts(devices, hosts, state_.config.deterministic);
}

std::unique_ptr<AsyncScheduler> Setup::make_scheduler(bool live) {
  const TrainingRequest& request = state_.request;
  const std::size_t ranks = state_.span.all;
  if (!state_.free_pace) return live_scheduler();
  if (live && request.replay != nullptr) return replay_scheduler(ranks, *request.replay);
  std::unique_ptr<AsyncScheduler> scheduler = state_.config.deterministic ? virtual_time_scheduler(ranks, state_.trial.seed) : live_scheduler();
  return live && request.record ? recording_scheduler(std::move(scheduler), ranks, state_.outcome.record) : std::move(scheduler);
}

std::unique_ptr<CommContext> Setup::make_context(bool live) {
  const int first_channel = live ? static_cast<int>(state_.span.all) : 0;
  return std::make_unique<CommContext>(*collectives_, state_.span, make_scheduler(live), state_.request.hosts, first_channel);
}

void Setup::end_warmup() {
  const std::lock_guard lock(mutex_);
  warmup_.reset();
}

std::vector<Kept> Setup::release_shared_objects() {
  const std::lock_guard lock(mutex_);
  return live_->release_shared_objects();
}

void Setup::make_replica(std::size_t number, bool live) {
  Rank& rank = state_.ranks[number];
  const TrainingRequest& request = state_.request;
  CommContext& context = live ? *live_ : *warmup_;
  // Passes that the replica of the warm-up has run need no first run of their own.
  const std::vector<GraphPass::Sample> seen =
      rank.replica == nullptr ? std::vector<GraphPass::Sample>() : rank.replica->seen_passes();
  const bool apart = rank.device->kind() != DeviceKind::cpu;
  rank.group = std::make_unique<RankGroup>(context, state_.global(number), apart ? rank.device.get() : nullptr);
  rank.replica = std::make_unique<RankReplica>(ReplicaParts{
      request.platform, rank.device.get(), rank.network.get(), rank.train_feed.get(), &state_.spec,
      &state_.config.optimizer, &context, rank.group.get(), state_.global(number), state_.trial.seed, state_.facts.global_batch, live && request.audit});
  if (live && request.record) rank.replica->set_lines(&state_.outcome.record.ranks[state_.global(number)]);
  // Captured work cannot be traced, and an exchange inside a pass cannot be captured.
  if (state_.may_capture() && !captures_steps() && !state_.tracing() && !shares_norm())
    if (auto recorder = request.platform->recorder(*rank.device, 0))
      rank.replica->enable_graph_passes(std::move(recorder), seen);
}

void Setup::prepare(std::size_t number, bool live) {
  Rank& rank = state_.ranks[number];
  const std::vector<float>& weights = state_.initial_weights();
  const std::vector<float> buffers = initial_buffers(state_.spec);
  copy_to_device(*rank.device, rank.network->weights(), ConstVec(weights.data(), weights.size()));
  copy_to_device(*rank.device, rank.network->buffers(), ConstVec(buffers.data(), buffers.size()));
  rank.device->zero(rank.network->gradients().data(), rank.network->gradients().bytes());
  rank.device->synchronize();
  make_replica(number, live);
  if (shares_norm())
    rank.network->synchronize_batch_norm([group = rank.group.get()](Vec sums) { group->all_reduce_statistics(sums); });
  StrategyOptions options(state_.trial.strategy.options);
  rank.strategy = state_.request.make(options, state_.facts);
  state_.check_traits(*rank.strategy);
  const std::uint64_t work = rank.replica->work();
  {
    const StepClock::PhaseScope in(Phase::strategy, "start");
    rank.strategy->start(*rank.replica, *rank.group);
  }
  expect_same_work(rank, work, "start()");
  if (live) {
    expect_initial(rank, rank.network->weights(), weights, "weights");
    expect_initial(rank, rank.network->buffers(), buffers, "statistics of batch normalisation");
  }
  rank.count_traffic(true);
  state_.enter(live ? TrainingPhase::start : TrainingPhase::warm_up, number);
}

// A strategy that has trained before the clock runs would be ahead of the others.
void Setup::expect_initial(Rank& rank, Vec present, const std::vector<float>& initial, const char* what) const {
  std::vector<float> now(initial.size());
  copy_to_host(*rank.device, Vec(now.data(), now.size()), present);
  rank.device->synchronize();
  if (std::memcmp(now.data(), initial.data(), initial.size() * sizeof(float)) != 0)
    throw Error(fmt::format("strategy '{}' changes the {} in start(); all rows begin with the same, so change them in step() only",
                            state_.trial.strategy.name, what));
}

// Whole steps are captured if they repeat and the host neither decides nor observes anything in them.
bool Setup::captures_steps() const {
  return state_.may_capture() && !state_.free_pace && !state_.tracing() && state_.trial_facts.traits.repeats_every > 0 &&
         state_.request.most_steps == 0 && collectives_->recordable();
}

std::unique_ptr<GraphSteps> Setup::make_graph_steps(std::size_t number) {
  if (!captures_steps()) return nullptr;
  Rank& rank = state_.ranks[number];
  std::unique_ptr<GraphRecorder> recorder = state_.request.platform->recorder(*rank.device, state_.facts.steps_per_epoch);
  if (recorder == nullptr) return nullptr;
  const StepParts parts{rank.strategy.get(), rank.replica.get(), rank.group.get(),
                        [this, number] { state_.wait_for_ranks(number); }};
  return std::make_unique<GraphSteps>(std::move(recorder), parts, state_.trial_facts.traits);
}

void Setup::sample_parts(std::size_t number) {
  Rank& rank = state_.ranks[number];
  // The speed of a check does not count, nor that of virtual time.
  if (state_.config.measure.warm_up_steps == 0 || state_.trial.control || state_.trial.reference || state_.tracing() ||
      (state_.free_pace && state_.config.deterministic))
    return;
  const auto make_timeline = [this, &rank] { return state_.request.platform->timeline(*rank.device); };
  const std::size_t steps = state_.config.epochs * state_.facts.steps_per_epoch;
  if (rank.graph_steps != nullptr) return rank.graph_steps->sample_parts(rank.clock, make_timeline, steps, rank.sample_every);
  // Some ten steps are measured, or none.
  std::unique_ptr<DeviceTimeline> timeline = steps < 10 * rank.sample_every ? nullptr : make_timeline();
  if (timeline != nullptr) rank.sampler = std::make_unique<StepSampler>(std::move(timeline), rank.sample_every);
}

}  // namespace mgcompare
