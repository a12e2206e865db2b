#include "reports/marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "discovery/manifest.h"
#include "plan/least_bytes.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

// From 1; 0: none.
std::size_t first_epoch(const Result& result, std::uint64_t EpochResult::* ranks) {
  const auto found = std::find_if(result.epochs.begin(), result.epochs.end(), [&](const EpochResult& epoch) { return epoch.*ranks > 0; });
  return found == result.epochs.end() ? 0 : static_cast<std::size_t>(found - result.epochs.begin()) + 1;
}

// By the sketches. Of one epoch there is nothing to compare.
bool keeps_its_weights(const Row& row) {
  const std::vector<EpochResult>& epochs = row.result.epochs;
  return row.config->optimizer.learning_rate > 0 && row.config->schedule.factor > 0 && epochs.size() > 1 && !epochs.front().sketch.empty() &&
         std::all_of(epochs.begin(), epochs.end(), [&](const EpochResult& epoch) { return epoch.sketch == epochs.front().sketch; });
}

bool has_busy_threads(const Row& row) {
  const Result& result = row.result;
  const double busy = result.seconds_other_threads;
  if (row.trial.device_kind != DeviceKind::cpu) return busy > kBusyThreads * static_cast<double>(row.trial.devices) * result.seconds_training;
  const bool takes_share = result.seconds_rank_threads > 0 && busy > kBusyShare * result.seconds_rank_threads && busy > kLeastBusySeconds;
  return (busy > kBusyThreads * result.seconds_training && busy > kLeastBusySeconds) || takes_share;
}

// The share of the time of passes and updates in which its ranks had no processor, over all ranks. Processor time outside of these phases
// hides part of the loss. Input is left out, because mapped samples may be read from a disk. 0 where it is not known.
double lost_share(const Row& row) {
  const Result& result = row.result;
  const bool is_known = row.trial.device_kind == DeviceKind::cpu && row.trial.hosts == 1 && row.trial.ranks_per_device == 1 && result.seconds_rank_threads > 0;
  if (!is_known || is_backend(row.trial.plugin_file)) return 0;
  double computed = 0;
  for (const RankTimes& rank : result.ranks) computed += rank.compute + rank.optimizer;
  return computed > kLeastLostSeconds ? 1 - result.seconds_rank_threads / computed : 0;
}

bool has_one_model(const Row& row) {
  return row.trial.ranks() > 1 && has_trait(row.result, "models", "one") && row.result.steps > 0;
}

double clock_difference(const EpochResult& epoch) { return std::abs(epoch.seconds_reported - epoch.seconds_training); }

bool has_other_clock(const EpochResult& epoch) {
  return clock_difference(epoch) > kClockSeconds && clock_difference(epoch) > kClockShare * epoch.seconds_training;
}

// The epoch at the lower quartile of the differences if that is too large. On a busy machine many messages are late, but not most of them; a clock
// that is wrong is wrong in every epoch.
std::vector<EpochResult>::const_iterator usual_other_clock(const std::vector<EpochResult>& epochs) {
  if (epochs.size() < kLeastClockEpochs) return epochs.end();
  std::vector<std::vector<EpochResult>::const_iterator> sorted;
  for (auto epoch = epochs.begin(); epoch != epochs.end(); ++epoch) sorted.push_back(epoch);
  std::sort(sorted.begin(), sorted.end(), [](const auto& one, const auto& other) { return clock_difference(*one) < clock_difference(*other); });
  const auto usual = sorted[(sorted.size() - 1) / 4];
  return clock_difference(*usual) > kUsualClockSeconds && clock_difference(*usual) > kClockShare * usual->seconds_training ? usual : epochs.end();
}

// Marks that only backends get.
void add_marks_of_backend(const Result& result, std::vector<Mark>& marks) {
  const auto& epochs = result.epochs;
  auto wrong = std::find_if(epochs.begin(), epochs.end(), has_other_clock);
  if (wrong == epochs.end()) wrong = usual_other_clock(epochs);
  if (wrong != epochs.end())
    marks.push_back({MarkKind::other_clock, fmt::format("its clock says {:.3g} s in epoch {}, and the program's {:.3g} s", wrong->seconds_reported,
                                                        wrong - epochs.begin() + 1, wrong->seconds_training)});
  double unclocked = 0;
  for (const EpochResult& epoch : epochs) unclocked += epoch.seconds_unclocked;
  const double weights = static_cast<double>(result.parameters) * sizeof(float) / kUnclockedBytesPerSecond;
  const double allowed = (kUnclockedSeconds + weights) * static_cast<double>(epochs.size());
  if (unclocked > allowed && unclocked > kUnclockedShare * result.seconds_training)
    marks.push_back({MarkKind::works_unclocked, fmt::format("worked {:.3g} s outside of its clock", unclocked)});
}

bool sends_too_little(const Row& row) {
  const Result& result = row.result;
  if (!has_trait(result, "promise", "exact") || !has_trait(result, "pace", "lockstep") || result.epochs.empty()) return false;
  const double least = least_bytes_per_step(result.parameters, result.samples_due / result.epochs.size(), row.trial.global_batch,
                                            row.trial.ranks());
  return result.bytes_per_step < least;
}

}  // namespace

bool disqualifies(MarkKind kind) {
  return kind != MarkKind::lost_processors && kind != MarkKind::busy_threads && kind != MarkKind::other_losses && kind != MarkKind::unchecked_promise;
}

std::string remedy_of(MarkKind kind) {
  switch (kind) {
    case MarkKind::other_clock:
      return "run again while nothing else uses the machine; if the mark stays, the backend has to report the time from its first step to its last, with its "
             "devices idle at both ends";
    case MarkKind::works_unclocked:
      return "train more samples in an epoch, and have the backend prepare before `ready`, not between the request for an epoch and its weights";
    case MarkKind::same_weights: return "check that its optimiser makes steps, and the learning rate; `mgcompare verify` has the details";
    case MarkKind::too_short: return "train more epochs or samples";
    case MarkKind::stood_still: return "run again without stopping the process";
    case MarkKind::broken_promise: return "`mgcompare verify` shows where the row departs from one device";
    case MarkKind::lost_processors: return "run again while nothing else uses the machine";
    case MarkKind::busy_threads:
    case MarkKind::other_losses:
    case MarkKind::unchecked_promise: return "";
    default: return "fix the strategy; `mgcompare verify` has the details";
  }
}

std::vector<Mark> marks_of(const Row& row, const PromiseCheck& promise) {
  const Result& result = row.result;
  std::vector<Mark> marks;
  if (row.state != RowState::finished || result.status != TrialStatus::done) return marks;
  if (promise.state == PromiseState::broken)
    marks.push_back({MarkKind::broken_promise, fmt::format("promise broken in epoch {}", promise.epoch)});
  // Nothing counts what a backend sends; it may say so, or not know.
  if (is_backend(row.trial.plugin_file)) add_marks_of_backend(result, marks);
  else if (has_one_model(row) && !(result.bytes_per_step > 0))
    marks.push_back({MarkKind::sent_nothing, "sent nothing"});
  // With batch_norm: sync the network itself exchanges.
  else if (row.trial.ranks() > 1 && has_trait(result, "role", "ceiling") && row.config->batch_norm != BatchNormPolicy::sync && result.bytes_per_step > 0)
    marks.push_back({MarkKind::ceiling_sent, fmt::format("sent {:.3g} bytes per step", result.bytes_per_step)});
  else if (has_one_model(row) && sends_too_little(row))
    marks.push_back({MarkKind::sent_too_little, fmt::format("sent {:.3g} bytes per step", result.bytes_per_step)});
  if (result.samples_due > 0 && result.samples != result.samples_due)
    marks.push_back({MarkKind::other_samples, fmt::format("trained {:.4g} times its samples", static_cast<double>(result.samples) /
                                                                                                   static_cast<double>(result.samples_due))});
  if (const std::size_t epoch = first_epoch(result, &EpochResult::repeats_samples); epoch > 0)
    marks.push_back({MarkKind::other_samples, fmt::format("trained some samples again in epoch {}, in place of others", epoch)});
  if (result.samples_ignored != 0) {
    const double share = static_cast<double>(result.samples_ignored) / static_cast<double>(std::max<std::uint64_t>(1, result.samples));
    marks.push_back({MarkKind::ignored_samples, share > 0 ? fmt::format("learned nothing from {} of its samples", percent_text(share))
                                                          : fmt::format("learned {:.3g} times from its samples", 1 - share)});
  }
  if (keeps_its_weights(row)) marks.push_back({MarkKind::same_weights, "ended every epoch with the same weights"});
  if (result.samples_only_passed > 0)
    marks.push_back({MarkKind::other_statistics, fmt::format("passed {} samples forward without learning from them", result.samples_only_passed)});
  if (result.seconds_stood_still > kStandstillShare * result.seconds_training)
    marks.push_back({MarkKind::stood_still, fmt::format("stood still for {:.3g} s of its {:.3g} s", result.seconds_stood_still, result.seconds_training)});
  if (!row.trial.control && (result.seconds_training < kLeastSeconds || result.steps < kLeastSteps))
    marks.push_back({MarkKind::too_short, "too short to measure"});
  if (!result.changed_settings.empty())
    marks.push_back({MarkKind::changed_settings, fmt::format("changed {}", result.changed_settings)});
  if (const double lost = lost_share(row); lost > kLostShare)
    marks.push_back({MarkKind::lost_processors, fmt::format("had no processor for {} of its work", percent_text(lost))});
  if (has_busy_threads(row))
    marks.push_back({MarkKind::busy_threads, "other threads are busy"});
  if (const std::size_t epoch = first_epoch(result, &EpochResult::ranks_apart); epoch > 0)
    marks.push_back({MarkKind::ranks_apart, fmt::format("ranks ended epoch {} with different weights", epoch)});
  if (const std::size_t epoch = first_epoch(result, &EpochResult::ranks_moved); epoch > 0)
    marks.push_back({MarkKind::moved_by_settle, fmt::format("settle() changed the weights in epoch {}", epoch)});
  if (result.samples_judged_again > 0)
    marks.push_back({MarkKind::other_losses, fmt::format("its training loss includes {} samples again", result.samples_judged_again)});
  // Results of an older version could not be checked.
  if (promise.state == PromiseState::unchecked && !result.epochs.empty() && !result.epochs.front().sketch.empty())
    marks.push_back({MarkKind::unchecked_promise, "promise not checked"});
  return marks;
}

std::string marks_text(const std::vector<Mark>& marks) {
  std::string text;
  for (const Mark& mark : marks) text += (text.empty() ? "" : "; ") + mark.text;
  return text;
}

bool is_marked(const std::vector<Mark>& marks, MarkKind kind) {
  return std::any_of(marks.begin(), marks.end(), [&](const Mark& mark) { return mark.kind == kind; });
}

bool is_disqualified(const std::vector<Mark>& marks) {
  return std::any_of(marks.begin(), marks.end(), [](const Mark& mark) { return disqualifies(mark.kind); });
}

}  // namespace mgcompare
