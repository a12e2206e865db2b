#include "plan/trait_texts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "mgcompare/error.h"
#include "plan/trial.h"

namespace mgcompare {

namespace {

// Each stage is captured by itself.
constexpr std::size_t kMostStages = 1000;

// "" if there is nothing wrong.
std::string wrong_part_of(const Traits& traits) {
  if (traits.devices.empty()) return "devices is empty; list the kinds of devices on which it runs";
  if (traits.promise == Traits::Promise::exact && traits.models == Traits::Models::many)
    return "promise is exact and models is many; models of their own do not equal one device, so promise approximate weights";
  if (traits.promise == Traits::Promise::exact && traits.role == Traits::Role::ceiling)
    return "promise is exact and role is ceiling; ranks that exchange nothing do not equal one device, so promise approximate weights";
  if (traits.least_ranks < 1) return fmt::format("least_ranks is {}; it must be 1 or more", traits.least_ranks);
  if (traits.most_ranks < traits.least_ranks)
    return fmt::format("most_ranks is {}, less than least_ranks, {}; give the numbers of ranks on which it runs", traits.most_ranks, traits.least_ranks);
  if (traits.repeats_every < 0) return fmt::format("repeats_every is {}; it must be 0 or more", traits.repeats_every);
  if (traits.stages.size() > kMostStages) return fmt::format("there are {} stages; {} are possible", traits.stages.size(), kMostStages);
  if (std::adjacent_find(traits.stages.begin(), traits.stages.end(), std::greater_equal<>()) != traits.stages.end())
    return "stages do not ascend; each begins at a later step than the one before";
  return "";
}

}  // namespace

void expect_possible_traits(const std::string& plugin, const Traits& traits) {
  if (const std::string wrong = wrong_part_of(traits); !wrong.empty())
    throw Error(fmt::format("strategy '{}' has impossible traits: {}", plugin, wrong));
}

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
          {"one_host", traits.one_host ? "true" : "false"},
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
