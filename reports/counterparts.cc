#include "reports/counterparts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "reports/framework.h"
#include "reports/titles.h"

namespace mgcompare {
namespace {

using Cells = std::vector<const Cell*>;

struct Sides {
  Cells before, after;

  bool has_pair() const { return before.size() == 1 && after.size() == 1 && before.front()->framework != after.front()->framework; }
  bool has_frameworks() const {
    return std::any_of(before.begin(), before.end(), [&](const Cell* one) {
      return std::any_of(after.begin(), after.end(), [&](const Cell* other) { return one->framework != other->framework; });
    });
  }
};

std::string like_of_cell(const Cell& cell) { return like_of(*cell.done.front()); }

auto key_of(const Cell& cell) {
  const TrialKey& trial = cell.trial();
  return std::tuple(trial.network.empty() ? cell.first->config->model.name : trial.network, like_of_cell(cell), trial.device_kind, trial.hosts, trial.devices,
                    trial.ids, trial.ranks_per_device, trial.scaling, trial.global_batch, trial.variant);
}

}  // namespace

Counterparts counterparts(const Cells& before, const Cells& after) {
  Counterparts found;
  if (!Sides{before, after}.has_frameworks()) return found;
  std::map<decltype(key_of(*before.front())), Sides> places;
  Cells unlike, alone;
  for (const Cells* cells : {&before, &after})
    for (const Cell* cell : *cells) {
      if (like_of_cell(*cell).empty()) unlike.push_back(cell);
      else (cells == &before ? places[key_of(*cell)].before : places[key_of(*cell)].after).push_back(cell);
    }
  for (const auto& [key, sides] : places) {
    if (sides.has_pair()) {
      found.pairs.emplace_back(sides.before.front(), sides.after.front());
      continue;
    }
    Cells all = sides.before;
    all.insert(all.end(), sides.after.begin(), sides.after.end());
    if (sides.has_frameworks())
      found.reasons.push_back(fmt::format("More than one row of a run computes like {}, so none of them is compared with another framework: {}",
                                          std::get<1>(key), titles_of(all)));
    else alone.insert(alone.end(), all.begin(), all.end());
  }
  if (!unlike.empty())
    found.reasons.push_back(fmt::format("It is not known which strategy computes in the same way, so they are compared with none: {}", titles_of(unlike)));
  if (!alone.empty())
    found.reasons.push_back(fmt::format("Only one of the runs has such a row, in its own or another framework, so they are compared with none: {}",
                                        titles_of(alone)));
  return found;
}

}  // namespace mgcompare
