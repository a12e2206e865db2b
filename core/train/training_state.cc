#include "train/training_state.h"

#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "modules/strategy_options.h"

namespace mgcompare {
namespace {

constexpr double kSecondsBetweenReports = 0.1;

RankSpan span_of(const Trial& trial, const HostSpan& hosts) {
  if (trial.rehearsal) return {trial.rehearsed_rank, 1, trial.ranks()};
  const std::size_t here = trial.ranks() / hosts.count;
  return {hosts.number * here, here, trial.ranks()};
}

}  // namespace

TrainingState::TrainingState(const TrainingRequest& request)
    : request(request), trial(*request.trial), config(request.trial->config), data(*request.dataset),
      spec(make_spec(config.model, data.spec, config.optimizer.decay_biases)),
      facts(facts_of(trial, config, data.train.samples)), span(span_of(trial, request.hosts)), ranks(span.here),
      phases(span.here, [this](TrainingPhase phase) { publish(phase); }) {
  // A verification trains many times in one process: the position is still that of the last end.
  publish(TrainingPhase::setup);
  facts.ordered = facts.ordered || request.replay != nullptr;
  StrategyOptions options(trial.strategy.options);
  const Traits traits = request.make(options, facts)->traits();
  for (const OptionProblem& problem : options.problems())
    if (!problem.warning)
      throw Error(problem.of_plugin ? trial.strategy.name + " " + problem.text : trial.strategy.name + ", option " + problem.key + ": " + problem.text);
  traits_read = texts_of(traits);
  // A replay is ordered, which its plan did not know.
  const bool was_planned = !trial.traits.empty() && trial.planned_steps == facts.steps_per_epoch && request.replay == nullptr;
  if (was_planned) expect_same_traits(trial.strategy.name, trial.traits, traits);
  free_pace = traits.pace == Traits::Pace::free;
  many_models = traits.models == Traits::Models::many;
  trial_facts = {&trial, &data, &spec, traits, tracing() && may_capture()};
  if (request.record) outcome.record.ranks.resize(span.all);
}

void TrainingState::publish(TrainingPhase phase) {
  if (request.position != nullptr) request.position->set({reported(phase), epoch, 0});
}

void TrainingState::meet_hosts(std::size_t rank) {
  if (request.hosts.count == 1) return;
  if (rank == 0) meet(request.hosts);
  wait_for_ranks(rank);
}

void TrainingState::gather_lines() {
  if (!request.record || request.hosts.count == 1) return;
  ScheduleLog log;
  if (request.hosts.number > 0) std::swap(log.ranks, outcome.record.ranks);
  const std::vector<std::uint8_t> bytes = nlohmann::json::to_cbor(nlohmann::json(log));
  const std::vector<std::string> all = gather(request.hosts, std::string(bytes.begin(), bytes.end()));
  for (std::size_t host = 1; host < all.size(); ++host) {
    ScheduleLog theirs = nlohmann::json::from_cbor(all[host]).get<ScheduleLog>();
    for (std::size_t rank = 0; rank < theirs.ranks.size(); ++rank)
      for (auto& [name, lines] : theirs.ranks[rank]) {
        auto& known = outcome.record.ranks[rank][name];
        known.insert(known.end(), std::make_move_iterator(lines.begin()), std::make_move_iterator(lines.end()));
      }
  }
  // Replicas hold pointers to the lines of their ranks, so these stay where they are.
  if (request.hosts.number > 0) {
    std::swap(log.ranks, outcome.record.ranks);
    for (ScheduleLog::Lines& lines : outcome.record.ranks) lines.clear();
  }
}

void TrainingState::check_traits(const Strategy& strategy) const {
  expect_same_traits(trial.strategy.name, traits_read, strategy.traits());
}

void TrainingState::report_progress(std::size_t rank, std::size_t step, double loss) {
  if (rank != 0) return;
  if (request.stop()) throw Interrupted();
  if (now() < next_report) return;
  next_report = now() + kSecondsBetweenReports;
  request.report({reported(phases.phase_of(0)), epoch, config.epochs, step, facts.steps_per_epoch, loss});
}

}  // namespace mgcompare
