// What a verification checks of ranks on several hosts: a strategy computes what it computes on one host.

#include <fmt/format.h>

#include "check/verify.h"
#include "check/weight_difference.h"

namespace mgcompare {
namespace {

using Verdict = VerifyFinding::Verdict;
using Weights = std::vector<std::vector<float>>;

constexpr std::size_t kEpochs = 2;

// Of all ranks, in their order.
Weights weights_of(const std::vector<TrainingOutcome>& hosts) {
  Weights all;
  for (const TrainingOutcome& host : hosts) all.insert(all.end(), host.weights.begin(), host.weights.end());
  return all;
}

std::string text_of(const HostShape& shape) {
  return fmt::format("on {} hosts of {} rank{}", shape.hosts, shape.ranks, shape.ranks == 1 ? "" : "s");
}

}  // namespace

void Verification::check_hosts(const StrategyConfig& strategy) {
  if (!on_cpu() || scope_.optimizers.empty()) return;
  for (const HostShape& shape : scope_.hosts) {
    TrainingCase of{.strategy = strategy, .optimizer = scope_.optimizers.front(), .ranks = shape.ranks * static_cast<int>(shape.hosts), .hosts = shape.hosts,
                    .is_brief = true, .epochs = kEpochs, .in_real_time = true};
    try {
      const std::optional<Traits> traits = fit(of);
      if (!traits || of.ranks < traits->least_ranks || of.ranks > traits->most_ranks || lacks_common_step(*traits)) continue;
      if (const std::string refused = trainings_.refused_hosts(of, *traits); !refused.empty())
        return report(Verdict::skipped, of, "several hosts", refused);
      if (traits->pace == Traits::Pace::free) check_free_pace(of, text_of(shape));
      else check_shape(of, *traits, text_of(shape));
    } catch (...) {
      report_exception(strategy, of.optimizer);
    }
  }
}

// By default each host adds its own ranks first; deterministic runs add in rank order.
void Verification::check_shape(TrainingCase of, const Traits& traits, const std::string& place) {
  const bool is_exact = traits.promise == Traits::Promise::exact;
  const bool local_norm = trainings_.normalises() && config_.batch_norm == BatchNormPolicy::local;
  of.smooth = is_exact;
  const std::vector<TrainingOutcome> outcomes = trainings_.run_on_hosts(of);
  const Weights weights = weights_of(outcomes);
  const std::size_t steps = outcomes[0].result.steps;
  const auto compare_with = [&](const std::string& check, const Expectation& expected, const Weights& found) {
    listener_.found(finding_of(of, fmt::format("{}, {}", place, check), expected, found, steps));
  };
  if (is_exact && !local_norm)
    compare_with("equals one device on the global batch (average pooling, tanh for relu)", {"", {trainings_.reference(of, 1)}, rounding_limit(of.optimizer)},
                 {weights[0]});
  if (traits.models == Traits::Models::one)
    compare_with("all ranks have the same bits", {"", Weights(weights.size(), weights[0])}, weights);
  // Others may add in the order in which ranks arrive.
  const bool has_order = !is_exact || traits.in_rank_order;
  compare_with(has_order ? "the same seed gives the same bits" : "the same seed gives the same weights",
               {"", weights, has_order ? 0 : rounding_limit(of.optimizer)}, weights_of(trainings_.run_on_hosts(of)));
  if (!is_exact || !has_bits(traits)) return;
  of.in_real_time = false;
  compare_with("in rank order, equals one rank that accumulates the shares, bit for bit",
               {"", {trainings_.reference(of, static_cast<std::size_t>(of.ranks))}}, {weights_of(trainings_.run_on_hosts(of))[0]});
}

// In virtual time sections have an order, which depends on the ranks only. A strategy may do something else on several hosts than on one
// (Facts::hosts), so how far the weights are from those of one host is no failure.
void Verification::check_free_pace(TrainingCase of, const std::string& place) {
  of.in_real_time = false;
  const auto report_on = [&](const std::string& check, Verdict otherwise, const Weights& expected, const Weights& found, std::size_t steps) {
    VerifyFinding finding = finding_of(of, fmt::format("{}, {}", place, check), {"", expected}, found, steps);
    if (finding.verdict == Verdict::failed) finding.verdict = otherwise;
    listener_.found(finding);
  };
  const std::vector<TrainingOutcome> outcomes = trainings_.run_on_hosts(of);
  const Weights weights = weights_of(outcomes);
  const std::size_t steps = outcomes[0].result.steps;
  report_on("in virtual time, the same seed gives the same bits", Verdict::failed, weights, weights_of(trainings_.run_on_hosts(of)), steps);
  TrainingCase one = of;
  one.hosts = 1;
  report_on("in virtual time, equals as many ranks of one host", Verdict::printed, trainings_.run(one).outcome.weights, weights, steps);
}

}  // namespace mgcompare
