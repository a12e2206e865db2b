#include "reports/prediction.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/median.h"
#include "reports/charts/series.h"
#include "reports/exchange.h"
#include "reports/findings.h"
#include "reports/rehearsed_step.h"
#include "reports/text.h"
#include "reports/work.h"

namespace mgcompare {
namespace {

// Smallest relative width of a band, also if the held-out row fits better by chance.
constexpr double kLeastBand = 0.05;

double count(std::size_t devices) { return static_cast<double>(devices); }

// Of the row on so many devices.
double global_batch(const Cell& cell, std::size_t devices) {
  return cell.trial().scaling == ScalingMode::weak ? samples_per_device(cell) * count(devices) : static_cast<double>(cell.trial().global_batch);
}

// Bytes per step that a rank sends on n devices: proportional to 2 (n - 1) / n as in an all-reduce, or constant, whichever fits
// the measured rows better.
class Payload {
 public:
  explicit Payload(const std::vector<const Cell*>& cells) {
    std::vector<double> whole, sent;
    for (const Cell* cell : cells) {
      if (cell->trial().devices < 2 || cell->bytes_per_step.count == 0) continue;
      sent.push_back(cell->bytes_per_step.median);
      whole.push_back(cell->bytes_per_step.median / share(cell->trial().devices));
    }
    if (sent.empty()) return;
    const auto width = [](const std::vector<double>& values) {
      const auto [least, most] = std::minmax_element(values.begin(), values.end());
      return median(values) > 0 ? (*most - *least) / median(values) : 0;
    };
    is_reduced_ = width(whole) <= width(sent);
    bytes_ = median(is_reduced_ ? whole : sent);
  }
  double bytes(std::size_t devices) const {
    return devices < 2 ? 0 : is_reduced_ ? bytes_ * share(devices) : bytes_;
  }

 private:
  static double share(std::size_t devices) { return 2 * (count(devices) - 1) / count(devices); }
  bool is_reduced_ = true;
  double bytes_ = 0;
};

// The model of one strategy on one kind of device.
struct Model {
  StepTime work;
  Payload payload;
  LinkModel link;
  double waiting = 0;

  double step(std::size_t devices, double samples) const {
    if (devices < 2) return work.seconds(samples);
    const double bytes = payload.bytes(devices);
    return work.seconds(samples) + (bytes > 0 ? link.seconds(devices, bytes) : 0) + waiting;
  }
};

// In weak scaling all steps may have the same batch per device: then only the cost of that batch is known.
StepTime work_of(const std::vector<const Cell*>& cells, bool weak) {
  if (const std::optional<StepTime> fitted = fit_work(cells, own_seconds)) return *fitted;
  std::vector<double> seconds;
  std::set<double> sizes;
  for (const Cell* cell : cells) {
    seconds.push_back(own_seconds(*cell));
    sizes.insert(samples_per_device(*cell));
  }
  if (!weak || sizes.size() != 1)
    throw Error("its rows have too few different batches per device to fit the cost of a sample; measure another batch");
  return {median(seconds), 0, 0, 1};
}

// A link model of the exchanges of these rows. Few rows do not separate latency from bandwidth. If the rows only all-reduce,
// the shape comes from the all-reduces timed before the run, and the rows give the share that is exposed.
LinkModel link_of_rows(const std::vector<const Cell*>& cells, const std::vector<ExchangeTime>& bare) {
  const std::vector<ExchangeTime> times = exchange_times(cells);
  if (times.empty()) return {};
  const bool has_shape = !bare.empty() && std::all_of(cells.begin(), cells.end(), [](const Cell* cell) {
    return cell->trial().devices < 2 || only_reduces(*cell);
  });
  if (!has_shape) return fit_link(times);
  LinkModel link = fit_link(bare);
  std::vector<double> factors;
  for (const ExchangeTime& time : times) factors.push_back(time.seconds / link.seconds(time.devices, time.bytes));
  const double factor = spread_of(factors).median;
  link.latency *= factor, link.large_latency *= factor;
  link.bandwidth /= factor, link.large_bandwidth /= factor;
  link.name = fmt::format("measured, all-reduce x {:.2g}", factor);
  return link;
}

Model model_of(const std::vector<const Cell*>& cells, bool weak, const std::optional<LinkModel>& given,
               const std::vector<ExchangeTime>& bare) {
  Model model{work_of(cells, weak), Payload(cells), {}, 0};
  std::vector<double> waiting;
  for (const Cell* cell : cells)
    if (cell->trial().devices > 1) waiting.push_back(cell->breakdown.waiting);
  model.waiting = median(waiting);
  model.link = given ? *given : link_of_rows(cells, bare);
  return model;
}

std::vector<const Cell*> below(const std::vector<const Cell*>& cells, std::size_t devices) {
  std::vector<const Cell*> kept;
  for (const Cell* cell : cells)
    if (cell->trial().devices < devices) kept.push_back(cell);
  return kept;
}

// Cells of one strategy on one kind of device, all batches.
using Kin = std::vector<const Cell*>;

void fill(Prediction& prediction, const Kin& kin, const Kin& row, const Cell& one_device,
          const std::vector<std::size_t>& devices, const std::optional<LinkModel>& given, const Run& run) {
  const Cell& largest = *prediction.largest;
  const bool weak = largest.trial().scaling == ScalingMode::weak;
  for (const Cell* cell : kin) {
    if (!cell->breakdown.reliable())
      throw Error("the parts of its steps are not known, or do not sum to the step time within 2 %");
  }
  const Kin smaller = below(kin, largest.trial().devices);
  const bool has_own_link = !exchange_times(smaller).empty();
  if (!given && !has_own_link && largest.bytes_per_step.median > 0) {
    const bool has_batches = weak || std::any_of(smaller.begin(), smaller.end(),
                                                 [&](const Cell* cell) { return samples_per_device(*cell) != samples_per_device(*smaller.front()); });
    throw Error(fmt::format("a prediction is first checked on the largest number of devices, and no row on fewer devices exchanges data; "
                            "measure a third number of devices, or {} `mgcompare predict DIR --link measured`", has_batches ? "use" : "two batches and use"));
  }
  const std::size_t most = largest.trial().devices;
  // The held-out row used the machine's own link, so the check does too. With rows on two devices only, that link is not known,
  // and the given link must describe it.
  const bool over_another = given && has_own_link;
  const Model blind = model_of(smaller, weak, over_another ? std::nullopt : given,
                               bare_times(run, largest.trial().device_kind, most));
  const Payload payload(kin);  // bytes are counted, not timed, so the held-out row may be used
  Model check = blind;
  check.payload = payload;
  prediction.hold_out_error =
      std::abs(check.step(largest.trial().devices, samples_per_device(largest)) / median_step(largest) - 1);
  prediction.trusted = *prediction.hold_out_error <= kWorstHoldOut;

  const Model model = model_of(kin, weak, given, bare_times(run, largest.trial().device_kind, most + 1));
  prediction.link = model.link;
  prediction.fitted_rows = kin.size();
  const double base = static_cast<double>(one_device.trial().global_batch) / median_step(one_device);
  const auto add = [&](std::size_t n, std::optional<double> measured) {
    const double batch = global_batch(largest, n);
    PredictedStep step{n, model.step(n, batch / count(n))};
    step.speed_up = batch / step.step / base;
    step.measured = measured;
    prediction.steps.push_back(step);
  };
  if (over_another && !prediction.trusted) return;
  for (const Cell* cell : row) {
    const std::size_t n = cell->trial().devices;
    add(n, over_another && n > 1 ? std::nullopt : std::optional(cell->speed_up.median));
  }
  if (!prediction.trusted) return;
  for (const std::size_t n : devices) {
    const double samples = weak ? samples_per_device(largest) : static_cast<double>(largest.trial().global_batch) / count(n);
    const bool known = std::any_of(row.begin(), row.end(), [&](const Cell* cell) { return cell->trial().devices == n; });
    if (!known && samples >= 1) add(n, std::nullopt);
  }
  std::sort(prediction.steps.begin(), prediction.steps.end(),
            [](const PredictedStep& a, const PredictedStep& b) { return a.devices < b.devices; });
}

std::string refused_text(const std::vector<std::size_t>& devices, const std::string& cause) {
  return fmt::format("it was not rehearsed on {} devices: {}", fmt::join(devices, ", "), cause);
}

// By rehearsals. `row`: the cells of one strategy and batch, by devices.
void fill_rehearsed(Prediction& prediction, const Rehearsals& rehearsals, const std::map<std::size_t, const Row*>& failed, const Kin& row, const Cell& one_device,
                    const std::vector<std::size_t>& devices, const std::optional<LinkModel>& given, const Run& run) {
  const DeviceKind kind = prediction.largest->trial().device_kind;
  const ExchangeCost own(run, kind, std::nullopt), cost(run, kind, given);
  prediction.is_rehearsed = true;
  prediction.fitted_rows = rehearsals.size();
  if (const std::optional<LinkModel> link = cost.link()) prediction.link = *link;
  // What the rows on fewer devices took longer than their rehearsals, those on more will, too.
  std::map<std::size_t, double> longer;
  for (const Cell* const cell : row)
    if (const auto known = rehearsals.find(cell->trial().devices); known != rehearsals.end())
      longer[known->first] = median_step(*cell) / rehearsed_step(known->second, own);
  const auto seconds = [&](std::size_t n, const ExchangeCost& by) {
    const auto next = longer.lower_bound(n);
    return rehearsed_step(rehearsals.at(n), by) * (next == longer.begin() ? 1 : std::prev(next)->second);
  };
  const Cell& largest = *prediction.largest;
  const std::size_t most = largest.trial().devices;
  if (longer.contains(most)) prediction.hold_out_error = std::abs(seconds(most, own) / median_step(largest) - 1);
  prediction.trusted = prediction.hold_out_error.value_or(0) <= kWorstHoldOut;
  const bool weak = largest.trial().scaling == ScalingMode::weak;
  const double base = static_cast<double>(one_device.trial().global_batch) / median_step(one_device);
  for (const std::size_t n : devices) {
    if (n < 2 || rehearsals.contains(n) || (!weak && n > largest.trial().global_batch)) continue;
    if (const auto found = failed.find(n); found == failed.end()) prediction.missing.push_back(n);
    else prediction.refused[found->second->result.cause].push_back(n);
  }
  for (const auto& [n, repeats] : rehearsals) {
    const auto cell = std::find_if(row.begin(), row.end(), [&, count = n](const Cell* one) { return one->trial().devices == count; });
    const bool is_asked = std::find(devices.begin(), devices.end(), n) != devices.end();
    if (cell == row.end() && (!is_asked || !prediction.trusted)) continue;
    const double batch = global_batch(largest, n);
    PredictedStep step{n, seconds(n, cost)};
    step.speed_up = batch / step.step / base;
    if (cell != row.end() && !given) step.measured = (*cell)->speed_up.median;
    prediction.steps.push_back(step);
  }
}

// Why there is no prediction, or none for some numbers of devices; empty if nothing is missing.
std::string problem_of(const Prediction& prediction) {
  if (!prediction.problem.empty()) return prediction.problem;
  if (!prediction.trusted)
    return fmt::format("the error on its largest measured number of devices is {}, and predictions need at most {}",
                       percent_text(*prediction.hold_out_error), percent_text(kWorstHoldOut));
  std::vector<std::string> texts;
  for (const auto& [cause, devices] : prediction.refused) texts.push_back(refused_text(devices, cause));
  if (!prediction.missing.empty())
    texts.push_back(fmt::format("{} devices were not rehearsed; name them in `scaling.devices`, also if the machine has fewer", fmt::join(prediction.missing, ", ")));
  return fmt::format("{}", fmt::join(texts, "; "));
}

// The band grows with each doubling beyond the measured number of devices.
void add_bands(std::vector<Prediction>& all) {
  for (Prediction& prediction : all) {
    double error = std::max(prediction.hold_out_error.value_or(kWorstHoldOut), kLeastBand);
    for (const Prediction& other : all)
      if (other.trusted && other.largest->trial().device_kind == prediction.largest->trial().device_kind)
        error = std::max(error, other.hold_out_error.value_or(0));
    const std::size_t most = prediction.largest->trial().devices;
    for (PredictedStep& step : prediction.steps) {
      const double band = 1 + error * (1 + std::log2(count(std::max(step.devices, most)) / count(most)));
      step.low = step.step / band, step.high = step.step * band;
      step.speed_up_low = step.speed_up / band, step.speed_up_high = step.speed_up * band;
    }
  }
}

}  // namespace

std::vector<Prediction> predict(const Comparison& comparison, const std::vector<std::size_t>& devices,
                                const std::map<DeviceKind, LinkModel>& links) {
  std::vector<Prediction> all;
  std::vector<Panel> every = panels(comparison);
  // The network between hosts is another link than that between the devices of one.
  std::erase_if(every, [](const Panel& panel) { return panel.hosts > 1; });
  std::map<std::tuple<std::string, DeviceKind, ScalingMode>, Kin> kins;
  for (const Panel& panel : every)
    for (const Cell* cell : panel.cells) kins[{cell->series, panel.device_kind, panel.scaling}].push_back(cell);
  for (const Series& series : all_series(comparison)) {
    for (const Panel& panel : every) {
      Kin row;
      for (const Cell* cell : panel.cells)
        if (cell->series == series.name) row.push_back(cell);
      if (row.empty()) continue;
      const Kin& kin = kins.at({series.name, panel.device_kind, panel.scaling});
      std::sort(row.begin(), row.end(), [](const Cell* a, const Cell* b) { return a->trial().devices < b->trial().devices; });
      if (row.back()->is_ceiling || !row.back()->baseline) continue;
      const Rehearsals rehearsals = rehearsals_of(comparison, *row.back());
      const std::map<std::size_t, const Row*> failed = failed_rehearsals_of(comparison, *row.back());
      if (row.back()->trial().devices < 2 && rehearsals.empty() && failed.empty()) continue;
      if (std::any_of(kin.begin(), kin.end(), [](const Cell* cell) { return cell->is_disqualified(); })) continue;
      Prediction prediction{series.name, row.back()};
      const bool is_alone = row.back()->trial().devices < 2;
      std::string unrehearsed;
      if (rehearsals.empty() && !failed.empty()) unrehearsed = refused_text({failed.begin()->first}, failed.begin()->second->result.cause);
      try {
        if (is_alone && !unrehearsed.empty()) throw Error(unrehearsed);
        if (row.back()->runs_freely) throw Error("its ranks run in free pace, which this model does not describe");
        const auto given = links.find(panel.device_kind);
        const std::optional<LinkModel> link = given == links.end() ? std::nullopt : std::optional(given->second);
        const Cell& one_device = comparison.cells[*row.back()->baseline];
        if (rehearsals.empty()) fill(prediction, kin, row, one_device, devices, link, *comparison.run);
        else fill_rehearsed(prediction, rehearsals, failed, row, one_device, devices, link, *comparison.run);
      } catch (const Error& error) {
        prediction.problem = is_alone || unrehearsed.empty() ? error.what() : unrehearsed + "; " + error.what();
        prediction.trusted = false;
      }
      all.push_back(std::move(prediction));
    }
  }
  add_bands(all);
  return all;
}

std::vector<std::size_t> usual_devices(const Comparison& comparison) {
  std::size_t most = 1;
  for (const Cell& cell : comparison.cells)
    if (!cell.done.empty()) most = std::max(most, cell.trial().devices);
  return {2 * most, 4 * most, 8 * most};
}

Table prediction_table(const std::vector<Prediction>& predictions) {
  Table table{"Prediction",
              "Step time and speed-up, predicted by a model of each strategy. Rehearsals: from steps of one device in the place of one of "
              "several, and the time of their exchanges on the link. Otherwise the model is fitted on the strategy's own few rows. Held out: the error on "
              "the largest measured number of devices of a model of the smaller ones, with the same link. This is one row and may "
              "be chance, so the band is the largest such error of all strategies in this table, at least 5 % (15 % if none was measured), plus the same again "
              "for each doubling beyond the machine. It is not a confidence interval, and does not include costs that only more "
              "devices cause (another switch, a second host). All-reduce x f: the link as measured by all-reduces before the first "
              "trial, of whose time the share f is exposed in the steps.",
              {"strategy", "batch", "devices", "step", "speed-up", "efficiency", "measured", "model", "held out", "link"},
              2,
              {}, {}};
  for (const Prediction& prediction : predictions) {
    const TrialKey& trial = prediction.largest->trial();
    for (const PredictedStep& step : prediction.steps) {
      const auto n = static_cast<double>(step.devices);
      const double batch = global_batch(*prediction.largest, step.devices);
      const bool has_link = prediction.link.bandwidth > 0;
      table.lines.push_back(
          {prediction.series, count_text(batch), fmt::format("{}:{}", to_string(trial.device_kind), step.devices),
           fmt::format("{}\n[{} .. {}]", seconds_text(step.step), seconds_text(step.low), seconds_text(step.high)),
           fmt::format("{:.2f}\n[{:.2f} .. {:.2f}]", step.speed_up, step.speed_up_low, step.speed_up_high), percent_text(step.speed_up / n),
           step.measured ? fmt::format("{:.2f}", *step.measured) : "-", prediction.is_rehearsed ? "rehearsals" : fmt::format("{} rows", prediction.fitted_rows),
           prediction.hold_out_error ? percent_text(*prediction.hold_out_error) : "-",
           has_link
               ? fmt::format("{}\n({} per message, {}/s)", prediction.link.name, seconds_text(prediction.link.latency), bytes_text(prediction.link.bandwidth))
               : "none needed"});
    }
  }
  return table;
}

std::vector<std::string> prediction_problems(const std::vector<Prediction>& predictions) {
  struct Problem {
    std::string title, text;
    std::size_t more = 0;
  };
  std::vector<Problem> all;
  for (const Prediction& prediction : predictions) {
    const std::string text = problem_of(prediction);
    if (text.empty()) continue;
    const auto same = std::find_if(all.begin(), all.end(), [&](const Problem& problem) { return problem.text == text; });
    if (same == all.end())
      all.push_back({title_of(*prediction.largest), text});
    else
      ++same->more;
  }
  std::vector<std::string> sentences;
  for (const Problem& problem : all) {
    const std::string more = problem.more == 0 ? "" : fmt::format(" and {} more row{}", problem.more, problem.more == 1 ? "" : "s");
    sentences.push_back(fmt::format("No prediction beyond {}{}: {}.", problem.title, more, problem.text));
  }
  return sentences;
}

}  // namespace mgcompare
