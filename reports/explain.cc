#include "reports/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "median.h"
#include "reports/charts/series.h"
#include "reports/drift.h"
#include "reports/findings.h"
#include "reports/text.h"
#include "reports/work.h"

namespace mgcompare {
namespace {

constexpr double kMuchExchange = 0.20, kMuchInput = 0.20, kStraggler = 1.10, kLostByLearning = 1.10, kLittleWork = 10;

struct Fired {
  const Cell* cell;
  double weight;                    // how bad it is
};

// Rows that a rule fires for become one reason: about the best row on several devices if it is among them.
void add(std::vector<Reason>& all, const Comparison& comparison, const std::vector<Fired>& fired, const char* rule,
         const char* title, const std::function<std::string(const Cell&)>& evidence, const char* action) {
  if (fired.empty()) return;
  const Cell* best = best_on_several(comparison);
  auto chosen = std::find_if(fired.begin(), fired.end(), [&](const Fired& one) { return one.cell == best; });
  if (chosen == fired.end())
    chosen = std::max_element(fired.begin(), fired.end(), [](const Fired& a, const Fired& b) { return a.weight < b.weight; });
  std::string text = evidence(*chosen->cell);
  if (fired.size() > 1) text += fmt::format(" It holds for {} more row{}.", fired.size() - 1, fired.size() == 2 ? "" : "s");
  all.push_back({rule, title, text, action});
}

template <class F>
std::vector<Fired> where(const Comparison& comparison, const F& weight) {
  std::vector<Fired> fired;
  for (const Cell& cell : comparison.cells) {
    if (cell.done.empty() || cell.trial().ranks_per_device != 1) continue;
    if (const std::optional<double> found = weight(cell)) fired.push_back({&cell, *found});
  }
  return fired;
}

double share(const Cell& cell, double Breakdown::* part) { return cell.breakdown.*part / cell.breakdown.step; }

// All rows of a strategy on a kind of device.
class Families {
 public:
  explicit Families(const Comparison& comparison) {
    for (const Cell& cell : comparison.cells) {
      if (!cell.done.empty() && cell.trial().ranks_per_device == 1)
        all_[{cell.series, cell.trial().device_kind}].cells.push_back(&cell);
    }
    for (auto& [name, family] : all_) family.work = fit_work(family.cells);
  }
  const std::vector<const Cell*>& of(const Cell& cell) const { return at(cell).cells; }
  const std::optional<Work>& work(const Cell& cell) const { return at(cell).work; }

 private:
  struct Family {
    std::vector<const Cell*> cells;
    std::optional<Work> work;
  };
  const Family& at(const Cell& cell) const { return all_.at({cell.series, cell.trial().device_kind}); }
  std::map<std::pair<std::string, DeviceKind>, Family> all_;
};

// E1 and E2: what the exchange waits for. The link is fitted on all rows of the kind that exchange.
void explain_exchange(const Comparison& comparison, std::vector<Reason>& all) {
  const auto much = [](const Cell& cell) -> std::optional<double> {
    const bool fires = cell.trial().devices > 1 && cell.breakdown.reliable() &&
                       share(cell, &Breakdown::exchange) > kMuchExchange;
    return fires ? std::optional(share(cell, &Breakdown::exchange)) : std::nullopt;
  };
  std::map<DeviceKind, std::vector<const Cell*>> kinds;
  for (const Cell& cell : comparison.cells)
    if (!cell.done.empty()) kinds[cell.trial().device_kind].push_back(&cell);
  std::map<DeviceKind, std::optional<Link>> links;
  for (const auto& [kind, cells] : kinds) {
    const std::vector<ExchangeTime> times = exchange_times(cells);
    const bool told_apart = std::any_of(times.begin(), times.end(), [&](const ExchangeTime& time) {
      return std::max(time.bytes, times.front().bytes) > 2 * std::min(time.bytes, times.front().bytes);
    });
    if (told_apart) links[kind] = fit_link(times);
  }
  std::vector<Fired> by_size, by_count, unknown;
  for (const Fired& one : where(comparison, much)) {
    const TrialKey& trial = one.cell->trial();
    const std::optional<Link>& link = links[trial.device_kind];
    const double bytes = one.cell->bytes_per_step.median;
    const double waits = link ? link->latency_seconds(trial.devices, bytes) : 0;
    const double moves = link ? link->seconds(trial.devices, bytes) - waits : 0;
    (link && moves > 3 * waits ? by_size : link && waits > moves ? by_count : unknown).push_back(one);
  }
  const auto evidence = [](const char* kind) {
    return [kind](const Cell& cell) {
      return fmt::format("{}: {} of the step is exposed exchange ({} sent by each rank, {}){}.", title_of(cell),
                         percent_text(share(cell, &Breakdown::exchange)), bytes_text(cell.bytes_per_step.median),
                         seconds_text(cell.breakdown.exchange), kind);
    };
  };
  add(all, comparison, by_size, "E1", "Communication, limited by bandwidth", evidence(", and its time follows the size"),
      "Send fewer bytes (a strategy that compresses), overlap the exchange with computing, or exchange less often.");
  add(all, comparison, by_count, "E2", "Communication, limited by latency",
      evidence(", and most of that does not depend on the size"),
      "Fuse messages into fewer (larger buckets), or exchange less often; compressing will not help.");
  add(all, comparison, unknown, "E1", "Communication",
      evidence(", with sizes too alike to tell latency from bandwidth"),
      "Compress or exchange less often; a row with a compressing strategy would show whether size or count is the limit.");
}

void explain_little_work(const Comparison& comparison, const Families& families, std::vector<Reason>& all) {
  struct Found {
    double fixed, needed;
  };
  std::map<const Cell*, Found> found;
  const std::vector<Fired> fired = where(comparison, [&](const Cell& cell) -> std::optional<double> {
    if (cell.trial().devices < 2) return std::nullopt;
    const std::optional<Work>& work = families.work(cell);
    const double samples = samples_per_device(cell);
    if (!work || !(work->fixed > 0) || work->per_sample * samples >= kLittleWork * work->fixed) return std::nullopt;
    found[&cell] = {work->fixed, kLittleWork * work->fixed / work->per_sample};
    return work->fixed / (work->per_sample * samples);
  });
  add(all, comparison, fired, "E3", "Too little work for a device",
      [&](const Cell& cell) {
        return fmt::format("{}: {:.0f} samples a device; {} of each step remain when a device gets fewer samples, a cost "
                           "that more devices cannot divide.",
                           title_of(cell), samples_per_device(cell), seconds_text(found[&cell].fixed));
      },
      "Give each device more samples a step; below each row's break-even batch more devices do not pay.");
}

void explain_input(const Comparison& comparison, std::vector<Reason>& all) {
  const auto fired = where(comparison, [](const Cell& cell) -> std::optional<double> {
    const bool fires = cell.breakdown.reliable() && share(cell, &Breakdown::input) > kMuchInput;
    return fires ? std::optional(share(cell, &Breakdown::input)) : std::nullopt;
  });
  add(all, comparison, fired, "E4", "Input",
      [](const Cell& cell) {
        return fmt::format("{}: {} of the step is making batches of samples.", title_of(cell),
                           percent_text(share(cell, &Breakdown::input)));
      },
      "Keep the samples on the device (`data.on: device`).");
}

// The largest over the median rank's computing, in the repeat where that is largest.
std::optional<std::pair<std::size_t, double>> slowest_rank(const Cell& cell) {
  std::optional<std::pair<std::size_t, double>> worst;
  for (const Row* row : cell.done) {
    const auto pace = row->result.traits.find("pace");
    if (row->result.ranks.size() < 2 || (pace != row->result.traits.end() && pace->second == "free")) continue;
    std::vector<double> seconds;
    for (const RankTimes& rank : row->result.ranks) seconds.push_back(rank.compute);
    const auto largest = std::max_element(seconds.begin(), seconds.end());
    // Of two ranks the other one is what a rank is compared with.
    const double usual = seconds.size() == 2 ? *std::min_element(seconds.begin(), seconds.end()) : median(seconds);
    if (!(usual > 0) || *largest / usual <= kStraggler) continue;
    if (!worst || *largest / usual > worst->second)
      worst = {static_cast<std::size_t>(largest - seconds.begin()), *largest / usual};
  }
  return worst;
}

void explain_stragglers(const Comparison& comparison, std::vector<Reason>& all) {
  const auto fired = where(comparison, [](const Cell& cell) -> std::optional<double> {
    const auto worst = slowest_rank(cell);
    return worst ? std::optional(worst->second) : std::nullopt;
  });
  add(all, comparison, fired, "E5", "A straggler",
      [](const Cell& cell) {
        const auto worst = *slowest_rank(cell);
        return fmt::format("{}: rank {} takes {} longer to compute than the others, which wait for it {} of the step.",
                           title_of(cell), worst.first, percent_text(worst.second - 1),
                           percent_text(share(cell, &Breakdown::waiting)));
      },
      "Look at that device's clock, temperature and other users; on a CPU, at what else runs on its core.");
}

void explain_learning(const Comparison& comparison, std::vector<Reason>& all) {
  if (!comparison.target_reached) return;
  const auto gained = [&](const Cell& cell) {
    return cell.baseline ? ratio(comparison.cells[*cell.baseline].done, cell.done, time_to_target) : Spread{};
  };
  const auto fired = where(comparison, [&](const Cell& cell) -> std::optional<double> {
    const Spread time = gained(cell);
    if (cell.many_models || time.count == 0 || !(time.median > 0)) return std::nullopt;
    const double lost = cell.speed_up.median / time.median;
    return lost > kLostByLearning ? std::optional(lost) : std::nullopt;
  });
  add(all, comparison, fired, "E6", "Statistical efficiency",
      [&](const Cell& cell) {
        return fmt::format("{}: throughput {:.2f}x, but time to {} only {:.2f}x: it needs more epochs.", title_of(cell),
                           cell.speed_up.median, target_text(comparison.target_accuracy), gained(cell).median);
      },
      "Tune the learning rate for this batch (`schedule.batch_rule`, warm-up) before judging the strategy by its speed.");
}

// A fact of the environment that begins with a number; 0 where there is none.
double number_in(const Run& run, std::string_view key) {
  for (const auto& [name, value] : run.info.environment)
    if (name == key) return std::strtod(value.c_str(), nullptr);
  return 0;
}

void explain_oversubscription(const Comparison& comparison, std::vector<Reason>& all) {
  const Run& run = *comparison.run;
  const double cores = number_in(run, "cpu cores"), load = number_in(run, "load before the run");
  if (!(cores > 0)) return;
  const auto fired = where(comparison, [&](const Cell& cell) -> std::optional<double> {
    const auto threads = static_cast<double>(cell.trial().ranks());
    const bool over = cell.trial().device_kind == DeviceKind::cpu && threads + std::max(0.0, load - 0.25) > cores;
    return over ? std::optional(threads) : std::nullopt;
  });
  add(all, comparison, fired, "E7", "Oversubscription",
      [&](const Cell& cell) {
        return fmt::format("{}: {} threads on {:.0f} physical cores, which had a load of {:.2f} already before the run.", title_of(cell),
                           cell.trial().ranks(), cores, load);
      },
      "Use fewer devices or end what else runs, and measure again.");
}

void explain_drift(const Comparison& comparison, std::vector<Reason>& all) {
  const std::vector<Drift> found = drifts(comparison);
  if (found.empty()) return;
  const Drift& worst = largest(found);
  std::string text = fmt::format(
      "Between {} and {} the samples/s of {} changed by {:+.1f} %: results from that time are suspect.",
      plain(worst.before->started), plain(worst.after->finished), plain(row_name(worst.before->trial)), worst.change * 100);
  if (found.size() > 1) text += fmt::format(" That was the largest of {} changes beyond 3 %.", found.size());
  all.push_back({"E8", "An unstable machine", text,
                 "Run again while nothing else uses the machine; more repeats do not mend figures of a machine that "
                 "changes."});
}

// The machine over minutes is the one thing, a trial over its seconds another.
void explain_drifting_trials(const Comparison& comparison, std::vector<Reason>& all) {
  const auto fired = where(comparison, [](const Cell& cell) -> std::optional<double> {
    return cell.is_drifting() ? std::optional(std::abs(cell.window_drift.median)) : std::nullopt;
  });
  add(all, comparison, fired, "E8", "Trials that change while they run",
      [](const Cell& cell) {
        const double drift = cell.window_drift.median;
        return fmt::format("{}: in each of {} repeats the last windows are {} than the first, by {} in the median, so its "
                           "samples/s depend on how long it runs.",
                           title_of(cell), cell.window_drift.count, drift > 0 ? "faster" : "slower",
                           percent_text(std::abs(drift)));
      },
      "Warm up for longer (`measure.level: thorough`, `measure.warm_up_steps`); where trials become slower, look at clocks "
      "and temperature.");
}

}  // namespace

std::vector<ExchangeTime> exchange_times(const std::vector<const Cell*>& cells) {
  std::vector<ExchangeTime> times;
  for (const Cell* cell : cells) {
    if (cell->trial().devices < 2 || !cell->breakdown.reliable() || !(cell->breakdown.exchange > 0)) continue;
    if (cell->bytes_per_step.median > 0)
      times.push_back({cell->bytes_per_step.median, cell->trial().devices, cell->breakdown.exchange});
  }
  return times;
}

std::vector<Reason> explain(const Comparison& comparison) {
  std::vector<Reason> all;
  explain_exchange(comparison, all);
  explain_little_work(comparison, Families(comparison), all);
  explain_input(comparison, all);
  explain_stragglers(comparison, all);
  explain_learning(comparison, all);
  explain_oversubscription(comparison, all);
  explain_drift(comparison, all);
  explain_drifting_trials(comparison, all);
  return all;
}

Table break_even_table(const Comparison& comparison) {
  Table table{"Break-even batch",
              "The global batch from which on the devices beat one: where the computing that they save pays for the "
              "exchange and waiting that were measured. A sample's cost comes from steps of different sizes; with two "
              "sizes nothing is left to judge the fit by.",
              {"strategy", "devices", "break-even", "exchange and waiting a step", "a sample", "sizes", "error of the fit"},
              2,
              {}, {}};
  const Families families(comparison);
  std::set<std::tuple<std::string, DeviceKind, std::size_t>> seen;
  for (const Cell& cell : comparison.cells) {
    const TrialKey& trial = cell.trial();
    const bool fits = !cell.done.empty() && trial.ranks_per_device == 1 && trial.devices > 1 && !cell.is_ceiling && trial.scaling == "strong";
    if (!fits || !seen.emplace(cell.series, trial.device_kind, trial.devices).second) continue;
    const std::vector<const Cell*>& kin = families.of(cell);
    const std::optional<Work>& work = families.work(cell);
    if (!work) continue;
    std::vector<double> paid;
    for (const Cell* one : kin) {
      if (one->trial().devices == trial.devices && one->breakdown.reliable())
        paid.push_back(one->breakdown.exchange + one->breakdown.waiting);
    }
    if (paid.empty()) continue;
    const double cost = median(paid);
    const std::optional<double> batch = break_even_batch(*work, cost, trial.devices);
    if (!batch) continue;
    table.lines.push_back({cell.series, fmt::format("{}:{}", to_string(trial.device_kind), trial.devices),
                           count_text(std::max(1.0, *batch)), seconds_text(cost), seconds_text(work->per_sample),
                           fmt::format("{}", work->sizes), work->sizes > 2 ? percent_text(work->error) : "-"});
  }
  return table;
}

}  // namespace mgcompare
