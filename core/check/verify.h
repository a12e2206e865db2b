#pragma once

// Checks the promises of strategies; docs/strategies.md lists the checks. For workers only: opens plugins and devices.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "check/trainings.h"
#include "check/verify_scope.h"
#include "check/verify_size.h"
#include "results/verify_finding.h"

namespace mgcompare {

// How far the sum of the gradients applied may be from that of the gradients computed, relative to it.
inline constexpr double kConservedGap = 1e-5;

class Verification {
 public:
  // As the constructor of Trainings.
  Verification(const Config& config, const Dataset& dataset, Platform& platform, const VerifyScope& scope, std::string folder);

  // Who is told of findings and trainings from now on.
  void listen(const VerifyListener& listener);
  // The check that exact strategies pass must reject a strategy that is wrong on purpose.
  void check_planted();
  // All checks of one row. A failed check does not end the others, an exception only those with the same optimiser.
  void check(const StrategyConfig& strategy);
  // Of an exact strategy, in a Verification with the scope of this size.
  void check_size(const StrategyConfig& strategy, const VerifySize& size);
  // On several hosts, which are threads of this process. Not on GPUs.
  void check_hosts(const StrategyConfig& strategy);
  // What depends on the process, such as addresses or random numbers that begin with its number, shows in another one: after
  // check(), keep() leaves a training and its checkpoint in the folder, and check_kept() of a Verification in another process
  // trains and resumes the same. That process begins with train_before(), best on another network of the experiment.
  void keep(const StrategyConfig& strategy);
  void train_before(const StrategyConfig& strategy);
  void check_kept(const StrategyConfig& strategy);

 private:
  // What the weights of a training should be.
  struct Expectation {
    std::string check;
    std::vector<std::vector<float>> weights;  // of each rank; one vector: of rank 0
    double limit = 0;                         // largest allowed difference; 0: the same bits
    const std::vector<SettledModel>* epochs = nullptr;  // after each epoch; null: not known
  };

  void report(VerifyFinding::Verdict verdict, const TrainingCase& of, const std::string& check, const std::string& figure);
  // Of the exception that is being handled.
  void report_exception(const StrategyConfig& strategy, const std::string& optimizer);
  void judge(bool good, const TrainingCase& of, const std::string& check, const std::string& figure);
  // Whether the weights are as expected. On a smooth network rounding may move some tensors farther than the limit; where it decides, nothing is judged.
  VerifyFinding finding_of(const TrainingCase& of, const std::string& check, const Expectation& expected,
                     const std::vector<std::vector<float>>& weights, std::size_t steps);
  // Where the weights differ most in proportion to what is allowed there; nothing if rounding decides. More controls than one are trained only where
  // that one does not explain the difference.
  std::optional<Departure> judged_departure(const TrainingCase& of, const Expectation& expected, const std::vector<std::vector<float>>& weights);
  // Reports it, and returns whether it has passed.
  bool compare(const TrainingCase& of, const std::string& check, const Expectation& expected, const TrainingOutcome& outcome);
  ObservedTraining run(const TrainingCase& of);
  // The traits of the case. If its options do not apply, the case gets the other length; if not there either, reports that and
  // returns nothing.
  std::optional<Traits> fit(TrainingCase& of);
  // The same without a report. Problems are those of the other length.
  std::optional<Traits> accepted(TrainingCase& of, std::vector<OptionProblem>& problems);
  std::string refused_;             // the last refusal of fit()
  bool fitted_ = false;             // whether it accepted a case of the present row

  // The scope's numbers of ranks that the strategy supports. If there are none, one that it does.
  std::vector<int> supported_ranks(const StrategyConfig& strategy, const std::string& optimizer);
  void check_optimizer(const StrategyConfig& strategy, const std::string& optimizer);
  void check_single_rank(TrainingCase alone);
  void check_exact(const TrainingCase& of, const Traits& traits);
  ObservedTraining check_bits(const TrainingCase& of);
  ObservedTraining check_global(const TrainingCase& of);
  void run_unchanged(TrainingCase of);
  void check_approximate(TrainingCase of, const Traits& traits);
  ObservedTraining check_disturbed(TrainingCase of, const Expectation& expected);
  void check_epochs(const TrainingCase& of, const Expectation& expected, const ObservedTraining& training);
  void check_within_epochs(const TrainingCase& of, const Expectation& expected, const ObservedTraining& training);
  void check_statistics(const TrainingCase& of, const Expectation& expected, const ObservedTraining& training);
  // One device, or one rank that accumulates shares, after each epoch. Valid until the next call.
  Expectation expected_of(const std::string& check, const TrainingCase& of, std::size_t shares, double limit);
  ObservedTraining compare_epochs(TrainingCase of, const Expectation& expected);
  void check_fitted(TrainingCase of, const Traits& traits);
  // That a long training which is resumed from its last checkpoint ends as it does without.
  void check_resumed(TrainingCase of, const std::string& what);
  // Whether one device departs from itself, with another order of summation, so far that nothing can be judged.
  bool rounding_decides(const TrainingCase& of);
  // With one device; with local batch normalisation and sums in rank order, with one rank that accumulates the shares.
  void compare_with_reference(TrainingCase of, const Traits& traits, const std::string& what);
  // Returns the training that was settled more often; none where nothing can be judged.
  std::optional<ObservedTraining> find_disturbance(const TrainingCase& disturbed, const Expectation& expected);
  void check_shared_norm(TrainingCase of);
  void report_drift(const TrainingCase& of, const TrainingOutcome& outcome);
  void report_copies(const TrainingCase& of, const Observation& seen);
  void report_buffers(const TrainingCase& of, const Traits& traits);
  void check_settled(const TrainingCase& of, const Traits& traits, const ObservedTraining& training);
  void check_traffic(const TrainingCase& of, const Traits& traits, const ObservedTraining& training);
  bool each_step_sends(const TrainingCase& of, const Observation& seen);
  void check_sent(const TrainingCase& of, const Observation& plain, const Observation& disturbed);
  void check_contributions(TrainingCase of, const Traits& traits, const ObservedTraining& plain);
  void check_contribution(TrainingCase of, const ObservedTraining& plain);
  void check_conservation(const TrainingCase& of, const TrainingOutcome& outcome);
  void check_real_time(TrainingCase of, const Traits& traits);
  // That a model depends on what each rank learns in real time, where no training can be repeated with another sample.
  void check_marks(TrainingCase of);
  // Of a strategy that has no order which virtual time could decide, and refuses its options there.
  void check_unordered(const StrategyConfig& strategy, const std::string& optimizer);
  void check_ceiling(const TrainingCase& of, const ObservedTraining& training);
  void check_usage(const StrategyConfig& strategy);
  void check_shape(TrainingCase of, const Traits& traits, const std::string& place);
  void check_free_pace(TrainingCase of, const Traits& traits, const std::string& place);
  // That another training on the same hosts ends as expected, and so does one that is interrupted and resumed.
  void check_repetition(TrainingCase of, const Expectation& expected, const std::string& place);
  // That one model depends on the samples of every rank of every host. `plain`: what the training ends with.
  void check_samples_of_hosts(TrainingCase of, const TrainingOutcome& plain, const std::string& place);
  // Whether the model depends on the sample of `of.alteration`. Nothing if the data have no other one.
  std::optional<bool> depends_on_sample(TrainingCase of, const TrainingOutcome& plain);
  // The training of keep(). Nothing if there is none to which the options apply.
  std::optional<TrainingCase> kept_case(const StrategyConfig& strategy);

  // Batch normalisation over all ranks needs a step common to them, which ranks at free pace do not have.
  bool lacks_common_step(const Traits& traits) const;
  void report_no_common_step(const TrainingCase& of);
  bool on_cpu() const { return scope_.device_kind == DeviceKind::cpu; }
  bool is_first(const std::string& optimizer) const { return scope_.optimizers.front() == optimizer; }
  // Whether one rank that accumulates the shares is a reference to the bit. With batch normalisation over all ranks it is none:
  // it normalises each share by itself.
  bool has_bits(const Traits& traits) const {
    return traits.in_rank_order && on_cpu() && (!trainings_.normalises() || config_.batch_norm == BatchNormPolicy::local);
  }

  Config config_;
  const VerifyScope& scope_;
  Trainings trainings_;
  VerifyListener listener_;
  // Of the trainings since the last report_buffers().
  bool keeps_buffers_ = true;
  double buffers_excess_ = 0;
  std::uint64_t only_passed_ = 0;   // samples that passed forward without a backward pass
};

// Checks the planted strategy and the strategies of the config in this process. Returns whether no check failed.
bool verify(const Config& config, const Dataset& dataset, Platform& platform, const VerifyScope& scope,
            const std::function<void(const VerifyFinding&)>& found);

}  // namespace mgcompare
