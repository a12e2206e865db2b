#include "training.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <future>
#include <utility>
#include <nlohmann/json.hpp>

#include "checkpoint.h"
#include "data/order.h"
#include "evaluation.h"
#include "gate.h"
#include "model/schedule.h"
#include "outcome.h"
#include "rank.h"
#include "ranks.h"
#include "strategy_options.h"
#include "warm_up.h"

namespace mgcompare {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The stripe from which free-running ranks draw; a strategy's own stripes are small numbers.
constexpr std::size_t kDrawStripe = static_cast<std::size_t>(-1);

class Training {
 public:
  explicit Training(const TrainingRequest& request)
      : request_(request), trial_(*request.trial), config_(request.trial->config), data_(*request.dataset),
        spec_(make_spec(config_.model, data_.train.sample_shape, data_.classes, config_.optimizer.decay_biases)),
        facts_(facts_of(trial_, data_.train.samples)), ranks_(trial_.ranks()), gate_(trial_.ranks()) {
    facts_.ordered = facts_.ordered || request.replay != nullptr;
    StrategyOptions options(trial_.strategy.options);
    const Traits traits = request.make(options, facts_)->traits();
    for (const OptionProblem& problem : options.problems())
      if (!problem.warning) throw Error(trial_.strategy.name + ", option " + problem.key + ": " + problem.text);
    free_ = traits.pace == Traits::Pace::free;
    many_ = traits.models == Traits::Models::many;
    trial_facts_ = {&trial_, &data_, &spec_, traits};
    if (request.record) outcome_.record.ranks.resize(ranks_.size());
    resumes_ = request.files.resume && std::filesystem::exists(request.files.checkpoint);
  }

  TrainingOutcome run() {
    run_ranks(ranks_.size(), [this](int rank) { run_rank(static_cast<std::size_t>(rank)); }, [this] { abort(); });
    return std::move(outcome_);
  }

 private:
  void abort() {
    gate_.abort();
    const std::lock_guard lock(meetings_mutex_);
    for (const auto& meeting : meetings_) meeting->abort();
  }

  void run_rank(std::size_t number) {
    Rank& rank = ranks_[number];
    const double start = now();
    open(number);
    const double opened = now();
    if (config_.measure.warm_up_steps > 0) rehearse(number);
    const double rehearsed = now();
    prepare(number, *live_meeting_, true);
    restore(number);
    rank.recorded = recorded_steps(number);
    if (number == 0) {
      live_ = true;
      draw_ahead(first_epoch_);
    }
    gate_.wait();
    if (number == 0) {
      // Of this process: what an interrupted one spent was set-up for nothing.
      result().seconds_warm_up = rehearsed - opened;
      result().seconds_setup = now() - start - result().seconds_warm_up;
    }
    for (std::size_t epoch = first_epoch_; epoch < config_.epochs && !out_of_steps(); ++epoch) {
      train_epoch(number, epoch);
      settle(number, epoch);
      save(number, epoch);
    }
    gate_.wait();
    if (number == 0) {
      conclude(outcome_, ranks_, trial_facts_, *request_.platform, request_.audit);
      if (tracing()) write_trace();
    }
    gate_.wait();
    // Strategies hold arrays of the devices; they go first, each on its rank's thread.
    rank.recorded.reset();
    rank.strategy.reset();
    gate_.wait();
  }

  Result& result() { return outcome_.result; }
  // In lockstep all ranks have made the same number of steps here; in free pace a limit is not needed.
  bool out_of_steps() const { return request_.most_steps != 0 && steps_ >= request_.most_steps; }

  bool tracing() const { return !request_.files.trace.empty(); }

  void write_trace() {
    std::vector<Trace> traces;
    for (const Rank& rank : ranks_) traces.push_back(rank.trace);
    std::ofstream file(request_.files.trace);
    file << trace_json(row_name(trial_) + (trial_.device_kind == DeviceKind::cpu ? "" : " (host threads only)"), traces);
    if (!file.flush()) result().notes.push_back("the trace could not be written to " + request_.files.trace);
  }

  void say(std::size_t number, const char* phase, std::size_t epoch, std::size_t step, double loss) {
    if (number != 0) return;
    if (request_.stop()) throw Interrupted();
    if (now() < next_report_) return;
    next_report_ = now() + 0.1;
    request_.report({phase, epoch, config_.epochs, step, facts_.steps_per_epoch, loss});
  }

  void open(std::size_t number) {
    say(number, "setup", 0, 0, 0);
    Rank& rank = ranks_[number];
    Platform& platform = *request_.platform;
    rank.device = platform.open(static_cast<int>(number / trial_.ranks_per_device));
    rank.network = platform.build(*rank.device, spec_, request_.numerics);
    const std::size_t largest = std::max(facts_.global_batch / ranks_.size() + 1, kEvaluationBatch);
    rank.network->reserve(largest);
    const bool on_host = config_.data.on == "host";
    rank.train_feed = platform.upload(*rank.device, data_.train, config_.data.scale, on_host);
    rank.test_feed = platform.upload(*rank.device, data_.test, config_.data.scale, on_host);
    std::vector<std::uint32_t> identity(data_.test.samples);
    for (std::size_t i = 0; i < identity.size(); ++i) identity[i] = static_cast<std::uint32_t>(i);
    rank.test_feed->set_order({identity.data(), identity.size()});
    gate_.wait();
    if (number == 0) {
      std::vector<Device*> devices;
      for (const Rank& each : ranks_) devices.push_back(each.device.get());
      collectives_ = platform.connect(devices);
      platform.reset_peak_memory();
      rehearsal_meeting_ = make_meeting(false);
      live_meeting_ = make_meeting(true);
    }
    gate_.wait();
  }

  std::unique_ptr<Pace> make_pace(bool counts) {
    if (!free_) return live_pace();
    if (counts && request_.replay != nullptr) return replay_pace(ranks_.size(), *request_.replay);
    std::unique_ptr<Pace> pace = config_.deterministic ? virtual_pace(ranks_.size(), trial_.seed) : live_pace();
    return counts && request_.record ? recording_pace(std::move(pace), ranks_.size(), outcome_.record) : std::move(pace);
  }

  Meeting* make_meeting(bool counts) {
    const std::lock_guard lock(meetings_mutex_);
    meetings_.push_back(std::make_unique<Meeting>(*collectives_, ranks_.size(), make_pace(counts)));
    return meetings_.back().get();
  }

  // A strategy on fresh weights.
  void prepare(std::size_t number, Meeting& meeting, bool counts) {
    Rank& rank = ranks_[number];
    const std::vector<float> weights = initial_weights(spec_, trial_.seed), buffers = initial_buffers(spec_);
    copy_to_device(*rank.device, rank.network->weights(), ConstVec(weights.data(), weights.size()));
    copy_to_device(*rank.device, rank.network->buffers(), ConstVec(buffers.data(), buffers.size()));
    rank.device->zero(rank.network->gradients().data(), rank.network->gradients().bytes());
    rank.device->synchronize();
    rank.replica = std::make_unique<RankReplica>(ReplicaParts{
        request_.platform, rank.device.get(), rank.network.get(), rank.train_feed.get(), &spec_, &config_.optimizer,
        &meeting, number, trial_.seed, facts_.global_batch, counts && request_.audit});
    if (counts && request_.record) rank.replica->set_lines(&outcome_.record.ranks[number]);
    rank.group = std::make_unique<RankGroup>(meeting, number);
    // A trace is of steps that the host makes.
    if (device_repeats() && !repeats_steps() && !tracing() && (config_.batch_norm != "sync" || ranks_.size() == 1))
      if (auto recorder = request_.platform->recorder(*rank.device, 0)) rank.replica->record_passes(std::move(recorder));
    if (tracing()) rank.group->trace_to(rank.trace);
    if (config_.batch_norm == "sync" && ranks_.size() > 1)
      rank.network->synchronize_batch_norm([group = rank.group.get()](Vec sums) { group->all_reduce(sums); });
    StrategyOptions options(trial_.strategy.options);
    rank.strategy = request_.make(options, facts_);
    rank.strategy->start(*rank.replica, *rank.group);
    keep_books(rank, true);
    gate_.wait();
  }

  // What the strategy moves counts for its placement in steps only.
  static void keep_books(Rank& rank, bool open) {
    rank.group->ledger().open(open);
    rank.replica->meter().ledger().open(open);
  }

  // Where the steps' work becomes another, it is the last that most of the training does.
  std::size_t rehearsed_epoch() const {
    const std::vector<std::size_t>& stages = trial_facts_.traits.stages;
    if (stages.empty()) return 0;
    return std::min(config_.epochs - 1, (stages.back() + facts_.steps_per_epoch - 1) / facts_.steps_per_epoch);
  }

  // Steps on weights that are thrown away, with a strategy that is thrown away: libraries compile their kernels, pages
  // are touched, connections made, before the clock starts.
  void rehearse(std::size_t number) {
    Rank& rank = ranks_[number];
    const std::size_t epoch = rehearsed_epoch();
    set_order(number, epoch);
    prepare(number, *rehearsal_meeting_, false);
    rehearsal_meeting_->pace().enter(number, epoch);
    gate_.wait();
    const std::size_t batches = data_.train.samples / facts_.global_batch;
    std::unique_ptr<RecordedSteps> recorded = recorded_steps(number);
    const auto period = static_cast<std::size_t>(std::max(0, trial_facts_.traits.repeats_every));
    const std::size_t steps = std::max(config_.measure.warm_up_steps, recorded == nullptr ? 0 : period);
    const auto learn = [&](std::size_t step) {
      say(number, "warm-up", 0, step, 0);
      Batch::Position at{epoch, step, batches == 0 ? 0 : step % batches * facts_.global_batch,
                         std::min(facts_.global_batch, data_.train.samples), number, ranks_.size(), rate_at(0, 0)};
      if (free_) at = {epoch, step, at.begin + Batch(at, spec_.sample_shape).size() * number, draw_size(), 0, 1, rate_at(0, 0)};
      at.begin = std::min(at.begin, data_.train.samples - at.global_size);
      const Batch batch(at, spec_.sample_shape);
      rank.replica->begin_step(batch);
      rank.strategy->step(*rank.replica, *rank.group, batch);
    };
    std::size_t step = 0;
    while (step < steps) learn(step++);
    // In virtual time ranks must not wait for each other, and speed does not count.
    if (config_.measure.level == "thorough" && !(free_ && config_.deterministic)) {
      if (number == 0) warm_up_ = WarmUp(now());
      do {
        gate_.wait();
        for (std::size_t end = step + WarmUp::kSteps; step < end;) learn(step++);
        rank.device->synchronize();
        gate_.wait();
        if (number == 0) warm_up_.add(now());
        gate_.wait();
      } while (!warm_up_.is_over());
    }
    if (free_) rank.strategy->rest(*rank.replica, *rank.group);
    rehearsal_meeting_->pace().leave(number);
    if (recorded != nullptr && ranks_.size() > 1) {
      begin_recorded(*recorded, number, epoch);
      rank.exchanges = recorded->time_exchanges();
    }
    rank.device->synchronize();
    gate_.wait();
    if (number == 0) share_exchanges();
    recorded.reset();
    rank.network->take_tally();
    rank.strategy.reset();
    rank.network->synchronize_batch_norm({});
    gate_.wait();
    if (number == 0) {
      // Its shared objects hold memory of the replicas that prepare() replaces.
      const std::lock_guard lock(meetings_mutex_);
      std::erase_if(meetings_, [this](const auto& meeting) { return meeting.get() == rehearsal_meeting_; });
    }
    gate_.wait();
  }

  // Audits look at every pass, and samples on the host are the host's to gather.
  bool device_repeats() const { return !request_.audit && config_.data.on != "host"; }
  // Where the strategy's steps repeat and nothing of them is decided or looked at by the host.
  bool repeats_steps() const {
    return device_repeats() && !free_ && !tracing() && trial_facts_.traits.repeats_every > 0 && request_.most_steps == 0 &&
           collectives_->recordable();
  }

  // None where the host makes every step.
  std::unique_ptr<RecordedSteps> recorded_steps(std::size_t number) {
    if (!repeats_steps()) return nullptr;
    Rank& rank = ranks_[number];
    std::unique_ptr<Recorder> recorder = request_.platform->recorder(*rank.device, facts_.steps_per_epoch);
    if (recorder == nullptr) return nullptr;
    return std::make_unique<RecordedSteps>(
        std::move(recorder), StepParts{rank.strategy.get(), rank.replica.get(), rank.group.get(), &gate_},
        trial_facts_.traits);
  }

  void begin_recorded(RecordedSteps& recorded, std::size_t number, std::size_t epoch) {
    recorded.begin_epoch(epoch, facts_.steps_per_epoch, data_.train.samples / facts_.global_batch,
                         [this, number, epoch](std::size_t index) { return batch_at(number, epoch, index); });
  }

  // What a recorded step spends on exchanges was timed for each rank; what of that is waiting, all of them tell together.
  void share_exchanges() {
    std::vector<Recorder::ExchangeRecord> records;
    for (const Rank& rank : ranks_) records.push_back(rank.exchanges);
    const std::vector<ExchangeShare> shares = split_exchanges(records);
    for (std::size_t k = 0; k < ranks_.size(); ++k) ranks_[k].of_recorded_step = shares[k];
  }

  // Of lockstep pace.
  Batch batch_at(std::size_t number, std::size_t epoch, std::size_t index) const {
    const std::size_t begin = index * facts_.global_batch;
    const std::size_t size = std::min(facts_.global_batch, data_.train.samples - begin);
    return Batch({epoch, index, begin, size, number, ranks_.size(), rate_at(epoch, begin)}, spec_.sample_shape);
  }

  // The next epoch's order is drawn while this one runs.
  void draw_ahead(std::size_t epoch) {
    if (epoch >= config_.epochs) return;
    next_order_ = std::async(std::launch::async, epoch_order, data_.train.samples, trial_.seed, epoch);
  }

  void set_order(std::size_t number, std::size_t epoch) {
    if (number == 0) {
      order_ = next_order_.valid() ? next_order_.get() : epoch_order(data_.train.samples, trial_.seed, epoch);
      if (live_) draw_ahead(epoch + 1);
    }
    gate_.wait();
    ranks_[number].train_feed->set_order({order_.data(), order_.size()});
  }

  std::size_t draw_size() const {
    return std::clamp<std::size_t>(facts_.global_batch / ranks_.size(), 1, data_.train.samples);
  }

  double rate_at(std::size_t epoch, std::size_t sample) const {
    const double passed = static_cast<double>(epoch) + static_cast<double>(sample) / static_cast<double>(data_.train.samples);
    return learning_rate_at(config_.optimizer, config_.schedule, passed, config_.epochs, facts_.global_batch);
  }

  void step(std::size_t number, const Batch& batch) {
    Rank& rank = ranks_[number];
    rank.replica->begin_step(batch);
    const double start = now();
    if (tracing()) rank.trace.begin_step(rank.step_seconds.size(), start);
    rank.strategy->step(*rank.replica, *rank.group, batch);
    const Tally tally = rank.network->take_tally();  // waits for the device
    const double end = now();
    rank.trace.end_step(end);
    rank.step_seconds.push_back(end - start);
    add(rank.epoch_tally, tally);
    const double loss = tally.samples == 0 ? 0 : tally.loss / static_cast<double>(tally.samples);
    check_loss(rank, loss);
    // In batches of the epoch that are used up: ranks that run freely count their draws, which are smaller.
    say(number, "training", batch.epoch(), batch.whole().begin() / facts_.global_batch, loss);
  }

  void train_epoch(std::size_t number, std::size_t epoch) {
    Rank& rank = ranks_[number];
    rank.epoch_tally = {};
    rank.group->forget_traffic();
    rank.replica->meter().forget();
    const double updated = rank.replica->seconds_updating(), read = rank.train_feed->seconds();
    if (request_.audit) rank.replica->forget_seen();
    gate_.wait();
    const double start = now();
    const std::size_t first_step = rank.step_seconds.size();
    set_order(number, epoch);
    if (free_) draw_epoch(number, epoch);
    else march_epoch(number, epoch);
    rank.device->synchronize();
    const double done = now();
    gate_.wait();
    const double end = now();

    const Traffic& traffic = rank.group->traffic();
    double stepped = std::exchange(rank.rest_seconds, 0.0);
    for (std::size_t i = first_step; i < rank.step_seconds.size(); ++i) stepped += rank.step_seconds[i];
    const auto repeated = static_cast<double>(std::exchange(rank.repeated_steps, 0));
    const double recording = rank.recorded == nullptr ? 0 : rank.recorded->take_recording_seconds();
    const double waiting = traffic.seconds_waiting + repeated * rank.of_recorded_step.waiting;
    const double exchange = traffic.seconds - traffic.seconds_waiting + rank.replica->meter().seconds() +
                            repeated * rank.of_recorded_step.exchange;
    rank.times.exchange += exchange;
    rank.times.overlapped += repeated * rank.of_recorded_step.overlapped;
    rank.times.waiting += waiting + (end - done);
    const double optimizer = rank.replica->seconds_updating() - updated, input = rank.train_feed->seconds() - read;
    rank.times.optimizer += optimizer;
    rank.times.input += input;
    rank.times.compute += stepped - exchange - waiting - optimizer - input;
    rank.times.harness += done - start - stepped - recording;
    rank.bytes += traffic.bytes + rank.replica->meter().bytes();
    if (number != 0) return;
    epoch_seconds_ = end - start - recording;
    result().seconds_setup += recording;
  }

  void march_epoch(std::size_t number, std::size_t epoch) {
    Rank& rank = ranks_[number];
    RecordedSteps* const recorded = rank.recorded.get();
    const std::size_t first = rank.step_seconds.size();
    if (recorded != nullptr) begin_recorded(*recorded, number, epoch);
    for (std::size_t index = 0; index < facts_.steps_per_epoch;) {
      const std::size_t from = index;
      const std::size_t repeatable = recorded == nullptr ? 0 : recorded->ready(index, first + index);
      if (repeatable > 0) {
        recorded->repeat(index, first + index);
        index += repeatable;
        if (!std::isfinite(recorded->loss())) take_records(rank);
        say(number, "training", epoch, index - 1, recorded->loss());
      } else {
        take_records(rank);
        step(number, batch_at(number, epoch, index++));
      }
      if (number == 0) steps_ += index - from;
      if (request_.most_steps != 0 && rank.step_seconds.size() >= request_.most_steps) return;
    }
    take_records(rank);
  }

  // Of steps that the device repeated by itself; it is waited for.
  void take_records(Rank& rank) {
    if (rank.recorded == nullptr) return;
    const std::vector<Recorder::StepRecord> records = rank.recorded->settle();
    for (const Recorder::StepRecord& record : records) {
      rank.step_seconds.push_back(record.seconds);
      check_loss(rank, record.loss);
    }
    rank.repeated_steps += records.size();
    if (!records.empty()) add(rank.epoch_tally, rank.network->take_tally());
  }

  static void add(Tally& sum, const Tally& tally) {
    sum.loss += tally.loss;
    sum.correct += tally.correct;
    sum.samples += tally.samples;
  }

  static void check_loss(const Rank& rank, double loss) {
    if (!std::isfinite(loss))
      throw Diverged("step " + std::to_string(rank.step_seconds.size()) + ", loss " + (std::isnan(loss) ? "nan" : "infinite"));
  }

  void draw_epoch(std::size_t number, std::size_t epoch) {
    Rank& rank = ranks_[number];
    Pace& pace = live_meeting_->pace();
    if (number == 0) drawn_ = draws_ = 0;
    pace.enter(number, epoch);
    gate_.wait();
    for (;;) {
      std::size_t begin = 0, size = 0, index = 0;
      pace.exclusive(number, kDrawStripe, [&] {
        begin = drawn_;
        size = std::min(draw_size(), data_.train.samples - begin);
        drawn_ += size;
        if (size > 0) index = draws_++;
      });
      if (size == 0) break;
      step(number, Batch({epoch, index, begin, size, 0, 1, rate_at(epoch, begin)}, spec_.sample_shape));
    }
    const double start = now();
    rank.strategy->rest(*rank.replica, *rank.group);
    rank.rest_seconds = now() - start;
    pace.leave(number);
  }

  // Replicas that normalise by themselves have statistics of their own; one model is evaluated with their mean.
  void average_buffers(std::size_t number) {
    Rank& rank = ranks_[number];
    const Vec buffers = rank.network->buffers();
    collectives_->all_reduce(static_cast<int>(number), buffers.data(), buffers.size(), Type::float32);
    std::vector<float> mean(buffers.size());
    copy_to_host(*rank.device, Vec(mean.data(), mean.size()), buffers);
    rank.device->synchronize();
    for (float& value : mean) value /= static_cast<float>(ranks_.size());
    copy_to_device(*rank.device, buffers, ConstVec(mean.data(), mean.size()));
    rank.device->synchronize();
  }

  void settle(std::size_t number, std::size_t epoch) {
    Rank& rank = ranks_[number];
    const double start = now();
    say(number, "evaluation", epoch, 0, 0);
    keep_books(rank, false);
    const Vec settled = rank.strategy->settle(*rank.replica, *rank.group);
    if (settled.size() != spec_.parameters)
      throw Error("settle() returned " + std::to_string(settled.size()) + " elements; the network has " +
                  std::to_string(spec_.parameters));
    rank.settled.resize(settled.size());
    copy_to_host(*rank.device, Vec(rank.settled.data(), rank.settled.size()), settled);
    rank.device->synchronize();
    // The last update of an epoch has no loss after it that would show it.
    for (const float weight : rank.settled)
      if (!std::isfinite(weight)) throw Diverged("after epoch " + std::to_string(epoch + 1) + ", weights are not finite");
    gate_.wait();
    if (request_.evaluate) evaluate_rank(number, epoch, settled);
    gate_.wait();
    if (number == 0) add_epoch(result(), ranks_, trial_facts_, request_.evaluate, epoch_seconds_, now() - start);
    keep_books(rank, true);
    gate_.wait();
  }

  void evaluate_rank(std::size_t number, std::size_t epoch, Vec settled) {
    Rank& rank = ranks_[number];
    const Vec buffers = rank.network->buffers();
    const bool average = !many_ && ranks_.size() > 1 && buffers.size() > 0;
    std::vector<float> kept(average ? buffers.size() : 0);
    if (average) {
      copy_to_host(*rank.device, Vec(kept.data(), kept.size()), buffers);
      rank.device->synchronize();
      average_buffers(number);
    }
    const Range samples = many_ ? Range{0, data_.test.samples} : share(data_.test.samples, number, ranks_.size());
    rank.evaluated = evaluate(*rank.network, *rank.test_feed, samples, settled);
    if (!std::isfinite(rank.evaluated.loss))
      throw Diverged("after epoch " + std::to_string(epoch + 1) + ", loss of the evaluation is not finite");
    if (average) {
      copy_to_device(*rank.device, buffers, ConstVec(kept.data(), kept.size()));
      rank.device->synchronize();
    }
  }

  void save(std::size_t number, std::size_t epoch) {
    if (request_.files.checkpoint.empty() || config_.checkpoint_epochs == 0) return;
    if ((epoch + 1) % config_.checkpoint_epochs != 0 || epoch + 1 == config_.epochs) return;
    const double start = now();
    if (number == 0) checkpoint_ = {nlohmann::json::object(), std::vector<Blobs>(ranks_.size())};
    gate_.wait();
    checkpoint_.ranks[number] = save_rank(ranks_[number]);
    gate_.wait();
    if (number == 0) {
      checkpoint_.progress = {{"epochs", epoch + 1}, {"steps", steps_}, {"result", result()}, {"record", outcome_.record}};
      write_checkpoint(request_.files.checkpoint, checkpoint_);
      result().seconds_checkpoint += now() - start;
      request_.report({"checkpoint", epoch, config_.epochs, 0, facts_.steps_per_epoch, 0});
    }
    gate_.wait();
  }

  void restore(std::size_t number) {
    if (!resumes_) return;
    if (number == 0) {
      checkpoint_ = read_checkpoint(request_.files.checkpoint);
      if (checkpoint_.ranks.size() != ranks_.size())
        throw Error("the checkpoint " + request_.files.checkpoint + " is of " +
                    std::to_string(checkpoint_.ranks.size()) + " ranks, this trial has " + std::to_string(ranks_.size()));
      outcome_.result = checkpoint_.progress.at("result").get<Result>();
      if (request_.record) restore_record(checkpoint_.progress.at("record").get<Record>());
      first_epoch_ = checkpoint_.progress.at("epochs").get<std::size_t>();
      steps_ = checkpoint_.progress.at("steps").get<std::size_t>();
    }
    gate_.wait();
    restore_rank(ranks_[number], checkpoint_.ranks[number]);
    gate_.wait();
  }

  // In place: ranks write to its lines.
  void restore_record(Record kept) {
    outcome_.record.epochs = std::move(kept.epochs);
    for (std::size_t rank = 0; rank < kept.ranks.size(); ++rank) outcome_.record.ranks[rank] = std::move(kept.ranks[rank]);
  }

  const TrainingRequest& request_;
  const Trial& trial_;
  const Config& config_;
  const Dataset& data_;
  NetworkSpec spec_;
  Facts facts_;
  TrialFacts trial_facts_;
  bool free_ = false, many_ = false, resumes_ = false;
  std::vector<Rank> ranks_;
  Gate gate_;
  std::unique_ptr<Collectives> collectives_;
  std::mutex meetings_mutex_;
  std::vector<std::unique_ptr<Meeting>> meetings_;
  Meeting* rehearsal_meeting_ = nullptr;
  Meeting* live_meeting_ = nullptr;
  WarmUp warm_up_;
  std::vector<std::uint32_t> order_;
  std::future<std::vector<std::uint32_t>> next_order_;
  bool live_ = false;               // the rehearsal is over
  std::size_t drawn_ = 0, draws_ = 0;  // of the epoch; under the draw stripe
  std::size_t first_epoch_ = 0;
  std::size_t steps_ = 0;
  double epoch_seconds_ = 0;
  double next_report_ = 0;
  Checkpoint checkpoint_;
  TrainingOutcome outcome_;
};

}  // namespace

Facts facts_of(const Trial& trial, std::size_t training_samples) {
  Facts facts;
  facts.ranks = static_cast<int>(trial.ranks());
  facts.global_batch = trial.global_batch;
  facts.steps_per_epoch = (training_samples + trial.global_batch - 1) / trial.global_batch;
  facts.epochs = trial.config.epochs;
  facts.optimizer = trial.config.optimizer.kind;
  facts.momentum = trial.config.optimizer.momentum;
  facts.device = trial.device_kind;
  facts.ordered = trial.config.deterministic;
  return facts;
}

TrainingOutcome train(const TrainingRequest& request) { return Training(request).run(); }

}  // namespace mgcompare
