#include "config/lone_seed.h"

#include <fmt/format.h>

#include "config/overrides.h"
#include "config/yaml_guard.h"

namespace mgcompare {
namespace {

constexpr std::uint64_t kMostRepeats = 10;  // larger numbers are chosen as seeds

constexpr char kKey[] = "seeds";

// The value of the key; nothing if it is not given. The config has been read without a problem.
Node given_seeds(const Config& config, const std::vector<std::string>& overrides) {
  std::vector<Problem> ignored;
  Node given;
  const auto take = [&](const std::vector<Override>& some) {
    for (const Override& one : some)
      if (one.name == kKey) given = one.value;
  };
  if (const auto root = parse_yaml(read_text(config.path), config.path, ignored)) {
    if (const Node* seeds = root->find(kKey)) given = *seeds;
    const Node* when_cpu = root->find("when_cpu");
    if (config.cut_down_for_cpu && when_cpu != nullptr) take(collect_overrides(*when_cpu, OverrideOrigin::when_cpu, ignored));
  }
  for (const std::string& text : overrides) take(parse_override(text, ignored));
  return given;
}

}  // namespace

std::string lone_seed_remark(const Config& config, const std::vector<std::string>& overrides) {
  if (config.seeds.size() != 1 || config.seeds.front() < 2 || config.seeds.front() > kMostRepeats || !given_seeds(config, overrides).is(Node::Kind::scalar))
    return "";
  const std::uint64_t seed = config.seeds.front();
  return fmt::format("`seeds: {0}` is one repeat, with the seed {0}; `seeds: [1, 2, 3]` are three", seed);
}

}  // namespace mgcompare
