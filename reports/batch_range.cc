#include "reports/batch_range.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <vector>

#include "config/problem.h"
#include "plan/listed_batch.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

// What the rows on several devices show at a batch of the config (per device in weak scaling), by samples/s.
enum class Gain {
  none,                             // all are significantly slower
  not_seen,                         // undecided, and no median shows one
  open,                             // a median shows one, and its interval includes 1
  unconfirmed,                      // undecided, but a median and its interval show one
  sure                              // a row is significantly faster
};

std::map<std::size_t, Gain> gain_by_batch(const Comparison& comparison) {
  std::map<std::size_t, Gain> gains;
  for (const Cell& cell : comparison.cells) {
    const TrialKey& trial = cell.trial();
    if (!cell.is_own || cell.done.empty() || trial.devices < 2 || cell.many_models || cell.is_ceiling || cell.is_disqualified() || !cell.baseline) continue;
    const Gain seen = cell.order == Order::above                     ? Gain::sure
                      : cell.order == Order::below                   ? Gain::none
                      : cell.speed_up.median <= 1 + kNoiseFloor ? Gain::not_seen
                      : includes_one(cell.speed_up)             ? Gain::open
                                                                : Gain::unconfirmed;
    Gain& gain = gains.try_emplace(listed_batch(trial), Gain::none).first->second;
    gain = std::max(gain, seen);
  }
  return gains;
}

std::string batches_text(const std::vector<std::size_t>& batches) {
  std::vector<std::string> texts;
  for (const std::size_t batch : batches) texts.push_back(count_text(static_cast<double>(batch)));
  return listed(texts);
}

}  // namespace

std::string batch_range_text(const Comparison& comparison) {
  const std::map<std::size_t, Gain> gains = gain_by_batch(comparison);
  if (gains.size() < 2) return "";
  std::vector<std::size_t> all, yes, no, unconfirmed, open, without;
  for (const auto& [batch, gain] : gains) {
    all.push_back(batch);
    switch (gain) {
      case Gain::none: no.push_back(batch); break;
      case Gain::not_seen: without.push_back(batch); break;
      case Gain::open: open.push_back(batch); break;
      case Gain::unconfirmed: unconfirmed.push_back(batch); break;
      case Gain::sure: yes.push_back(batch); break;
    }
  }
  const bool is_decided = unconfirmed.empty() && open.empty() && without.empty();
  if (is_decided && yes.empty()) return fmt::format("By samples/s, several devices are faster than one at none of the batches {}", batches_text(all));
  if (is_decided && no.empty()) return fmt::format("By samples/s, several devices are faster than one at all batches: {}", batches_text(all));
  if (is_decided && yes.front() > no.back())
    return fmt::format("By samples/s, several devices are faster than one from batch {} on, of the batches {}", count_text(static_cast<double>(yes.front())),
                       batches_text(all));
  if (is_decided) return fmt::format("By samples/s, several devices are faster than one at batch {}, but not at {}", batches_text(yes), batches_text(no));
  std::vector<std::string> texts;
  if (!yes.empty()) texts.push_back(fmt::format("several devices are faster than one at batch {}", batches_text(yes)));
  if (!unconfirmed.empty()) texts.push_back(fmt::format("a gain of several devices is seen, but not confirmed, at batch {}", batches_text(unconfirmed)));
  if (!open.empty()) texts.push_back(fmt::format("it is undecided whether several devices are faster at batch {}", batches_text(open)));
  if (!without.empty()) texts.push_back(fmt::format("no gain is seen, but none is ruled out, at batch {}", batches_text(without)));
  if (!no.empty()) texts.push_back(fmt::format("several devices are slower at batch {}", batches_text(no)));
  return fmt::format("By samples/s, {}", fmt::join(texts, "; "));
}

}  // namespace mgcompare
