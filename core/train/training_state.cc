#include "train/training_state.h"

#include "base/clock.h"
#include "modules/strategy_options.h"

namespace mgcompare {
namespace {

constexpr double kSecondsBetweenReports = 0.1;

}  // namespace

TrainingState::TrainingState(const TrainingRequest& request)
    : request(request), trial(*request.trial), config(request.trial->config), data(*request.dataset),
      spec(make_spec(config.model, data.spec, config.optimizer.decay_biases)),
      facts(facts_of(trial, config, data.train.samples)), ranks(trial.ranks()), phases(trial.ranks()) {
  facts.ordered = facts.ordered || request.replay != nullptr;
  StrategyOptions options(trial.strategy.options);
  const Traits traits = request.make(options, facts)->traits();
  for (const OptionProblem& problem : options.problems())
    if (!problem.warning) throw Error(trial.strategy.name + ", option " + problem.key + ": " + problem.text);
  free_pace = traits.pace == Traits::Pace::free;
  many_models = traits.models == Traits::Models::many;
  trial_facts = {&trial, &data, &spec, traits, tracing() && may_capture()};
  if (request.record) outcome.record.ranks.resize(ranks.size());
}

void TrainingState::report_progress(std::size_t rank, std::size_t step, double loss) {
  if (rank != 0) return;
  if (request.stop()) throw Interrupted();
  if (now() < next_report) return;
  next_report = now() + kSecondsBetweenReports;
  request.report({reported(phases.phase_of(0)), epoch, config.epochs, step, facts.steps_per_epoch, loss});
}

}  // namespace mgcompare
