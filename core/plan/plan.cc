#include "plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "base/number_text.h"
#include "base/text.h"
#include "discovery/manifest.h"
#include "plan/backend_rows.h"
#include "plan/batches.h"
#include "plan/controls.h"
#include "plan/evaluations.h"
#include "plan/host_rows.h"
#include "plan/listed_devices.h"
#include "model/preparation.h"
#include "model/spec.h"
#include "plan/numerics.h"
#include "plan/rehearsals.h"
#include "plan/strategy_rows.h"
#include "plan/trial_order.h"
#include "plan/version.h"
#include "config/problem.h"

namespace mgcompare {
namespace {

constexpr std::size_t kMostTrials = 10000;

// A row of the comparison: a trial without its seed, and the index of its probe question.
struct Row {
  Trial trial;
  std::size_t strategy = 0;
  std::size_t version = 0;
  std::size_t question = 0;
  bool alone = false;  // one rank, whatever devices the config lists
};

class Planner {
 public:
  Planner(const Config& config, CapabilityProbe& probe, const HostsConfig& hosts) : config_(config), probe_(probe) { plan_.hosts = hosts; }

  Plan make() {
    plan_.config = config_;
    plan_.platforms = probe_.platforms();
    plan_.plugins = probe_.plugins();
    find_plugins();
    find_data();
    make_versions();
    list_candidates();
    answers_ = probe_.ask(questions_);
    if (answers_.size() != questions_.size()) throw Error("the probe did not answer all questions; run again");
    for (Row& row : rows_) add_backend(row.trial, answers_[row.question], versions_[row.version].config);
    for (Row& row : rows_)
      if (row.trial.unavailable.empty()) row.trial.unavailable = refused_hosts(row.trial, traits(row));
    choose();
    for (const Row& row : rows_) check(row);
    throw_problems(std::move(problems_));
    warn();
    lay_out();
    return std::move(plan_);
  }

 private:
  void problem(const Place& place, std::string text, std::string hint = "", std::size_t width = 1,
               std::string note = "", bool of_plugin = false) {
    for (const Problem& known : problems_) {
      if (known.text == text && known.place.line == place.line && known.place.column == place.column) return;
    }
    problems_.push_back({place, std::move(text), std::move(hint), std::move(note), width, of_plugin});
  }

  void find_plugins() {
    for (const std::string& path : config_.plugin_paths) {
      if (const std::string wrong = plugin_path_problem(path, plan_.plugins); !wrong.empty())
        problem(whole_file(), fmt::format("'plugins' names {}, which {}", path, wrong), "correct it, or remove it");
      for (const PluginSummary& plugin : plan_.plugins)
        if (plugin.file == path && !plugin.problem.empty()) warn_once(plugin.problem);
    }
    for (const StrategyConfig& strategy : config_.strategies) {
      const PluginSummary* refused = nullptr;
      const PluginSummary* found = nullptr;
      for (const PluginSummary& plugin : plan_.plugins) {
        if (plugin.name != strategy.name) continue;
        (plugin.problem.empty() ? found : refused) = &plugin;
      }
      files_.push_back(found ? found->file : "");
      // Two plugins have this name. The author of the refused one must see that it is not used.
      if (found && refused) warn_once(refused->problem);
      if (const auto missing = plugin_problem(strategy, plan_.plugins)) {
        missing_.insert(files_.size() - 1);
        problem(missing->place, missing->text, missing->hint, missing->width, missing->note, missing->of_plugin);
      }
    }
  }

  // Missing data are no mistake in the config, but are reported beside those.
  void find_data() {
    try {
      plan_.data = probe_.samples(config_);
    } catch (const Error& error) {
      if (problems_.empty()) throw;
      problem(place_of_data(config_, "path"), error.what());
      throw_problems(std::move(problems_));
    }
  }

  // Their networks are checked for mismatched shapes. Problems of strategies do not end the plan here: the options of the others are checked, too.
  void make_versions() {
    const std::size_t known = problems_.size();
    versions_ = trained_versions(config_);
    for (const Version& version : versions_) check_network(version.config);
    for (const Version& version : versions_) {
      if (samples_of(version.config) == 0) {
        problem(place_of_data(version.config, "validation_samples"),
                fmt::format("data.validation_samples holds back all {} training samples", thousands(plan_.data.train_samples)),
                "make it smaller");
      }
    }
    if (problems_.size() > known) throw_problems(std::move(problems_));
  }

  void check_network(const Config& version) {
    SampleSpec samples = plan_.data.spec;
    try {
      samples = as_read(samples, make_spec(version.model, samples, version.optimizer.decay_biases));
    } catch (const NetworkError& error) {
      // Read in the wrong order of axes, samples fit no network.
      problem(error.place(), error.what(), "", 1, channels_last_warning(samples));
    }
    if (const auto wrong = preparation_problem(version.data.prepare, samples)) problem(place_of_data(version, wrong->key), wrong->text);
    if (plan_.data.test_samples == 0 && version.data.validation_samples == 0)
      problem(place_of_data(version), "the data has no test samples", "hold back training samples with `data.validation_samples`");
  }

  // Training samples of an epoch.
  std::size_t samples_of(const Config& version) const { return training_samples(version.data, plan_.data.train_samples); }

  Place whole_file() const { return {config_.path, 0, 0}; }

  // Every combination, plus one rank for each: a strategy for one rank runs even if no one-device entry is listed.
  void list_candidates() {
    std::size_t rows = 0;
    const std::function<void(std::string)> warn = [this](std::string text) { warn_once(std::move(text)); };
    for (std::size_t version = 0; version < versions_.size(); ++version) {
      const Config& config = versions_[version].config;
      const ScalingConfig& scaling = config.scaling;
      const std::vector<ListedDevices> devices = listed_devices(scaling, plan_.platforms, plan_.hosts.names.size());
      const Batches all(config, samples_of(config), warn);
      const std::vector<std::size_t> batches = all.of_rows();
      rows += config_.strategies.size() * devices.size() * batches.size();
      if (rows * config_.seeds.size() > kMostTrials) {
        problem(whole_file(), fmt::format("this experiment has more than {} trials", thousands(kMostTrials)),
                "use fewer networks, devices, batches, variants or seeds");
        throw_problems(std::move(problems_));
      }
      for (std::size_t strategy = 0; strategy < config_.strategies.size(); ++strategy) {
        if (missing_.contains(strategy)) continue;
        for (const std::size_t batch : batches) {
          for (const ListedDevices& some : devices) {
            if (!all.repeats(batch, some.count))
              add_candidate(version, strategy, some, batch, scaling.ranks_per_device, false);
          }
          for (const ListedDevices& single : single_devices(devices, plan_.platforms))
            add_candidate(version, strategy, single, batch, 1, true);
          if (has_rehearsals(config)) add_rehearsals(version, strategy, devices, batch);
        }
      }
    }
  }

  void add_candidate(std::size_t version, std::size_t strategy, const ListedDevices& devices, std::size_t batch,
                     std::size_t ranks_per_device, bool alone) {
    const Config& config = versions_[version].config;
    Row row;
    row.strategy = strategy;
    row.version = version;
    row.alone = alone;
    Trial& trial = row.trial;
    trial.strategy = config_.strategies[strategy];
    trial.plugin_file = files_[strategy];
    trial.device_kind = devices.kind;
    trial.devices = devices.count;
    trial.hosts = devices.hosts;
    trial.ids = devices.ids;
    trial.ranks_per_device = ranks_per_device;
    trial.scaling = config.scaling.mode;
    trial.global_batch = config.scaling.mode == ScalingMode::weak ? batch * devices.count : batch;
    trial.network = versions_[version].network;
    trial.variant = versions_[version].variant;
    trial.unavailable = devices.unavailable;
    if (trial.unavailable.empty())
      trial.unavailable = refused_numerics(config, plan_.platforms, devices.kind, trial.devices_per_host());
    row.question = question(row);
    rows_.push_back(std::move(row));
  }

  // On the first device of each kind.
  void add_rehearsals(std::size_t version, std::size_t strategy, const std::vector<ListedDevices>& devices, std::size_t batch) {
    if (versions_[version].config.scaling.ranks_per_device != 1) return;
    std::set<DeviceKind> kinds;
    for (const ListedDevices& single : single_devices(devices, plan_.platforms)) {
      if (!kinds.insert(single.kind).second) continue;
      for (const std::size_t count : rehearsed_counts(devices, single.kind)) {
        add_candidate(version, strategy, {single.kind, count, 1, single.ids, single.unavailable}, batch, 1, false);
        rows_.back().trial.rehearsal = true;
      }
    }
  }

  std::size_t question(const Row& row) {
    const Config& config = versions_[row.version].config;
    const Trial& trial = row.trial;
    const Facts facts = facts_of(trial, config, samples_of(config));
    const auto [known, fresh] = asked_.try_emplace(
        std::make_tuple(row.strategy, row.version, facts.ranks, facts.hosts, facts.global_batch, facts.device), questions_.size());
    if (fresh) questions_.push_back({trial.plugin_file, trial.strategy, facts, config_.python});
    return known->second;
  }

  const Traits& traits(const Row& row) const { return answers_[row.question].traits; }

  // Removes rows with a number of ranks that the strategy does not support.
  void choose() {
    std::set<std::tuple<std::size_t, std::size_t, DeviceKind>> single;
    for (const Row& row : rows_) {
      if (row.alone && traits(row).most_ranks == 1) single.insert({row.strategy, row.version, row.trial.device_kind});
    }
    std::erase_if(rows_, [&](const Row& row) {
      const bool one_rank_only = single.contains({row.strategy, row.version, row.trial.device_kind});
      const int ranks = static_cast<int>(row.trial.ranks());
      const bool fits = traits(row).least_ranks <= ranks && ranks <= traits(row).most_ranks;
      if (row.trial.rehearsal) return one_rank_only || !fits || has_problem(row) || !is_rehearsable(row);
      if (!row.alone && !one_rank_only && !fits) {
        warn_once(fmt::format("{} is left out at {} rank{}: it needs {}", row.trial.strategy.label, ranks,
                              ranks == 1 ? "" : "s",
                              ranks < traits(row).least_ranks ? fmt::format("at least {}", traits(row).least_ranks)
                                                              : fmt::format("at most {}", traits(row).most_ranks)));
      }
      return row.alone != one_rank_only || !fits;
    });
  }

  // In weak scaling the batch of many devices may be larger than the data set.
  bool is_rehearsable(const Row& row) const {
    return row.trial.global_batch <= samples_of(versions_[row.version].config) &&
           can_be_rehearsed(traits(row), row.trial, questions_[row.question].facts.steps_per_epoch);
  }

  bool has_problem(const Row& row) const {
    const StrategySummary& answer = answers_[row.question];
    return !answer.crash.empty() ||
           std::any_of(answer.problems.begin(), answer.problems.end(), [](const OptionProblem& found) { return !found.warning; });
  }

  bool is_own(const std::string& file) const {
    return std::any_of(plan_.plugins.begin(), plan_.plugins.end(),
                       [&](const PluginSummary& plugin) { return plugin.file == file && plugin.is_own; });
  }

  // Adds the problems that the strategy reports for this row. Rows that cannot run are not checked.
  void check(const Row& row) {
    const StrategyConfig& strategy = config_.strategies[row.strategy];
    const StrategySummary& answer = answers_[row.question];
    if (!row.trial.unavailable.empty() || row.trial.rehearsal) return;
    if (!answer.crash.empty()) {
      return problem(strategy.place, fmt::format("strategy '{}' crashed when it was created from its options: {}, in {}", strategy.name,
                                                 answer.crash, plain(row.trial.plugin_file)),
                     "build its plugin again, or remove it", strategy.name.size(), "", true);
    }
    for (const OptionProblem& found : answer.problems) report(row, found);
    const RowFacts facts{row.trial.device_kind, versions_[row.version].config.batch_norm, is_own(row.trial.plugin_file)};
    for (const Problem& found : trait_problems(strategy, answer.traits, facts)) problem(found.place, found.text, found.hint, found.width);
    const bool within_epochs = answer.traits.pace == Traits::Pace::lockstep && !is_backend(row.trial.plugin_file);
    const std::size_t steps = questions_[row.question].facts.steps_per_epoch;
    if (const auto found = evaluations_problem(versions_[row.version].config, within_epochs, steps)) problem(found->place, found->text, found->hint);
  }

  void report(const Row& row, const OptionProblem& found) {
    const StrategyConfig& strategy = config_.strategies[row.strategy];
    const StrategySummary& answer = answers_[row.question];
    const std::string where = is_in_all_rows(row, found)
                                  ? ""
                                  : fmt::format(" (at {} rank{}, global batch {})", row.trial.ranks(),
                                                row.trial.ranks() == 1 ? "" : "s", row.trial.global_batch);
    if (found.warning) {
      return warn_once(
          fmt::format("{}{}{}: {}{}", strategy.label, found.key.empty() ? "" : ", ", found.key, found.text, where));
    }
    std::vector<std::string> options;
    for (const OptionSummary& option : answer.options) options.push_back(option.key);
    const auto given = std::find_if(strategy.options.begin(), strategy.options.end(),
                                    [&](const OptionConfig& option) { return option.key == found.key; });
    const bool read = std::find(options.begin(), options.end(), found.key) != options.end();
    const bool is_given = given != strategy.options.end();
    const Place& place = !is_given ? strategy.place : read ? given->place : given->key_place;
    const std::size_t width = !is_given ? strategy.name.size() : read ? given->value.size() : given->key.size();
    const std::string subject = found.key.empty() ? fmt::format("strategy '{}'", strategy.name)
                                                  : fmt::format("'{}' of '{}'", found.key, strategy.name);
    problem(place, fmt::format("{}: {}{}", subject, found.text, where),
            found.key.empty() || read ? "" : did_you_mean(found.key, options), width,
            found.key.empty() || read ? ""
            : options.empty()         ? "it has no options"
                                      : "its options: " + listed(options), found.of_plugin);
  }

  // Whether all rows of the strategy have this problem, so that it does not depend on ranks or batch.
  bool is_in_all_rows(const Row& row, const OptionProblem& found) const {
    return std::all_of(rows_.begin(), rows_.end(), [&](const Row& other) {
      const auto& problems = answers_[other.question].problems;
      return other.strategy != row.strategy || !other.trial.unavailable.empty() ||
             std::any_of(problems.begin(), problems.end(),
                         [&](const OptionProblem& same) { return same.key == found.key && same.text == found.text; });
    });
  }

  void warn_once(std::string text) {
    auto& warnings = plan_.warnings;
    if (std::find(warnings.begin(), warnings.end(), text) == warnings.end()) warnings.push_back(std::move(text));
  }

  void warn() {
    bool baseline = false, any = false;  // of what can run
    for (const Row& row : rows_) {
      plan_.traits.try_emplace(row.trial.strategy.label, traits(row));
      any |= row.trial.unavailable.empty();
      baseline |= is_baseline(traits(row), row.trial) && row.trial.unavailable.empty();
      if (const std::string missing = missing_backend(answers_[row.question], row.trial.strategy.name); !missing.empty()) warn_once(missing);
      const std::string changed = changed_precision(versions_[row.version].config, plan_.platforms, row.trial.device_kind);
      if (!changed.empty()) warn_once(changed);
    }
    if (any && !baseline) warn_once("no strategy of this experiment is a baseline on one device, so efficiency cannot be computed");
    for (std::size_t i = 0; i < config_.strategies.size(); ++i) {
      const bool used = std::any_of(rows_.begin(), rows_.end(), [&](const Row& row) { return row.strategy == i && !row.trial.rehearsal; });
      if (!used) warn_once(fmt::format("{} has no row: it supports none of the listed numbers of devices", config_.strategies[i].label));
    }
    if (config_.scaling.ranks_per_device > 1) {
      warn_once("several ranks share a device: the speed of such rows is not meaningful");
    }
    for (const Version& version : versions_) {
      const double warm_up = version.config.schedule.warm_up_epochs;
      if (warm_up > static_cast<double>(version.config.epochs))
        warn_once(fmt::format("schedule.warm_up_epochs: {:g} epochs are more than the {} of the training, so the learning rate never reaches its full value",
                              warm_up, version.config.epochs));
    }
    if (const std::string warning = channels_last_warning(plan_.data.spec); !warning.empty()) warn_once(warning);
  }

  void lay_out() {
    if (std::all_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.trial.rehearsal; }))
      throw Error("nothing can run: no strategy supports any of the listed devices");
    std::vector<PlannedRow> rows;
    std::vector<Trial> rehearsals;
    for (const Row& row : rows_) {
      const bool runs = row.trial.unavailable.empty();
      PlannedRow& planned = rows.emplace_back();
      planned.trial = row.trial;
      planned.trial.traits = texts_of(traits(row));
      planned.trial.planned_steps = questions_[row.question].facts.steps_per_epoch;
      planned.trial.config = with_precision(versions_[row.version].config, plan_.platforms, row.trial.device_kind);
      if (row.trial.rehearsal) {
        for (Trial& rehearsal : rehearsal_trials(planned.trial)) rehearsals.push_back(std::move(rehearsal));
        rows.pop_back();
        continue;
      }
      planned.baseline = runs && is_baseline(traits(row), row.trial);
      if (planned.baseline) plan_.checked.baselines.insert(row_name(row.trial));
      if (promises_baseline(traits(row), row.trial, versions_[row.version].config)) plan_.checked.exact.insert(row_name(row.trial));
    }
    plan_.trials = ordered_trials(config_, rows, plan_.checked, rehearsals);
  }

  const Config& config_;
  CapabilityProbe& probe_;
  Plan plan_;
  std::vector<std::string> files_;  // by index of the strategy
  std::set<std::size_t> missing_;   // of them; they have no rows
  std::vector<Version> versions_;
  std::vector<Row> rows_;
  std::vector<ProbeQuestion> questions_;
  std::map<std::tuple<std::size_t, std::size_t, int, int, std::size_t, DeviceKind>, std::size_t> asked_;
  std::vector<StrategySummary> answers_;
  std::vector<Problem> problems_;
};

}  // namespace

Plan make_plan(const Config& config, CapabilityProbe& probe, const HostsConfig& hosts) {
  return Planner(config, probe, hosts).make();
}

}  // namespace mgcompare
