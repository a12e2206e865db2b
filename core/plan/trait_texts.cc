#include "plan/trait_texts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "mgcompare/error.h"
#include "plan/trial.h"

namespace mgcompare {

TraitTexts texts_of(const Traits& traits) {
  constexpr const char* kRoles[] = {"contender", "baseline", "ceiling"};
  std::vector<std::string_view> devices;
  for (const DeviceKind kind : traits.devices) devices.push_back(to_string(kind));
  return {{"promise", traits.promise == Traits::Promise::exact ? "exact" : "approximate"},
          {"in_rank_order", traits.in_rank_order ? "true" : "false"},
          {"pace", traits.pace == Traits::Pace::free ? "free" : "lockstep"},
          {"models", traits.models == Traits::Models::many ? "many" : "one"},
          {"role", kRoles[static_cast<int>(traits.role)]},
          {"devices", fmt::format("{}", fmt::join(devices, ", "))},
          {"least_ranks", fmt::format("{}", traits.least_ranks)},
          {"most_ranks", fmt::format("{}", traits.most_ranks)},
          {"repeats_every", fmt::format("{}", traits.repeats_every)},
          {"stages", fmt::format("{}", fmt::join(traits.stages, ", "))}};
}

void expect_same_traits(const std::string& plugin, const TraitTexts& before, const Traits& now) {
  const TraitTexts answer = texts_of(now);
  for (const auto& [trait, text] : before) {
    const auto found = answer.find(trait);
    if (found == answer.end() || found->second == text) continue;
    throw Error(fmt::format("strategy '{}' changes its traits: {} was '{}' and is now '{}'; make traits() depend on options and "
                            "facts only",
                            plugin, trait, text, found->second));
  }
}

}  // namespace mgcompare
