#include "plan/batches.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/number_text.h"

namespace mgcompare {

std::vector<std::size_t> Batches::of_rows() const {
  if (is_weak()) return config_.scaling.batch;
  std::vector<std::size_t> batches;
  for (const std::size_t batch : config_.scaling.batch) {
    if (batch > samples_)
      warn_(fmt::format("batch {} is more than the {} training samples: its rows are those of batch {}", batch, thousands(samples_), samples_));
    if (std::find(batches.begin(), batches.end(), std::min(batch, samples_)) == batches.end()) batches.push_back(std::min(batch, samples_));
  }
  return batches;
}

bool Batches::repeats(std::size_t batch, std::size_t devices) const {
  const auto holds_all = [&](std::size_t one) { return one * devices >= samples_; };
  if (!is_weak() || !holds_all(batch)) return false;
  const bool has_rule = config_.schedule.batch_rule != BatchRule::none;
  if (batch * devices > samples_)
    warn_(fmt::format("on {} device{}, batch {} per device, {} in all, is more than the {} training samples: each step has {}, whatever its row is named{}", devices,
                      devices == 1 ? "" : "s", batch, batch * devices, thousands(samples_), thousands(samples_),
                      has_rule ? fmt::format(", and the learning rate is that of batch {}", batch * devices) : ""));
  const auto end = std::find(config_.scaling.batch.begin(), config_.scaling.batch.end(), batch);
  const auto earlier = std::find_if(config_.scaling.batch.begin(), end, holds_all);
  if (has_rule || earlier == end) return false;
  warn_(fmt::format("on {} devices, batches {} and {} per device both hold all {} training samples: they are one row", devices, *earlier, batch,
                    thousands(samples_)));
  return true;
}

}  // namespace mgcompare
