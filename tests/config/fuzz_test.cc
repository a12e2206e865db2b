// Reads thousands of damaged configs. Each must be accepted or rejected with messages; nothing else may happen.

#include <gtest/gtest.h>

#include <iostream>
#include <random>

#include <nlohmann/json.hpp>

#include "config/config_reader.h"
#include "mgcompare/random.h"
#include "tests/config/workspace.h"
#include "config/yaml_guard.h"

namespace mgcompare {
namespace {

constexpr int kMutations = 2500;
constexpr int kLongMutations = 20 * kMutations;

// A different seed in each run. It is printed, so that a failure can be reproduced.
std::uint64_t fresh_seed() {
  const std::uint64_t seed = std::random_device()();
  std::cout << "seed " << seed << std::endl;
  return seed;
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed, 0) {}

  std::string mutate(std::string text) {
    static const std::vector<std::string> kPieces = {":",           ": ",         "- ",
                                                     "\n",          "\n  ",       "[",
                                                     "]",           "{",          "}",
                                                     ",",           "&a ",        "*a",
                                                     "<<: ",        "!!int ",     "|\n",
                                                     ">",           "\"",         "'",
                                                     "#",           "?",          "%",
                                                     "---\n",       "...\n",      "~",
                                                     "null",        "010",        "-1",
                                                     "1e999",       ".nan",       "0x1",
                                                     "\t",          "\xff",       std::string(1, '\0'),
                                                     "\xc3\xbc",    "when_cpu: ", "variants: ",
                                                     "set: ",       "layers: ",   "as: ",
                                                     "strategies: "};
    const std::uint64_t times = 1 + below(4);
    for (std::uint64_t i = 0; i < times; ++i) {
      const std::size_t at = below(text.size() + 1);
      switch (below(5)) {
        case 0:
          text.insert(at, kPieces[below(kPieces.size())]);
          break;
        case 1:
          text.erase(at, 1 + below(12));
          break;
        case 2:
          text.insert(at, text.substr(below(text.size() + 1), below(40)));
          break;
        case 3:
          if (at < text.size()) text[at] = static_cast<char>(below(256));
          break;
        default:
          text.resize(at);
          break;
      }
    }
    return text;
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_.below(draw_++, bound); }

  Random random_;
  std::uint64_t draw_ = 0;
};

class Fuzz : public Workspace {
 protected:
  void mutate_configs(std::uint64_t seed, int mutations);
  void mutate_networks(std::uint64_t seed, int mutations);
};
using LongFuzz = Fuzz;

void Fuzz::mutate_configs(std::uint64_t seed, int mutations) {
  const std::string model = write("models/lenet.yaml", read_text(MGCOMPARE_SOURCE_DIR "/configs/models/lenet.yaml"));
  const std::string good = read_text(kLeNet) +
                           "variants: [{name: a, set: {optimizer.learning_rate: 0.07}}]\nplugins: [x]\nname: a "
                           "b\nmeasure: {time_limit: 3}\n";
  Mutator mutator(seed);
  int read = 0, refused = 0;
  for (int i = 0; i < mutations; ++i) {
    const std::string path = write("x.yaml", mutator.mutate(good));
    try {
      const Config config = read_config(path);
      // An accepted config can be stored and read back without change.
      EXPECT_EQ(config_hash(nlohmann::json::parse(nlohmann::json(config).dump()).get<Config>()), config_hash(config));
      for (const VariantConfig& variant : config.variants) apply_variant(config, variant);
      ++read;
    } catch (const ConfigError& error) {
      ASSERT_FALSE(error.problems().empty());
      ASSERT_LT(std::string(error.what()).size(), 20000u);
      for (const Problem& problem : error.problems()) ASSERT_FALSE(problem.text.empty());
      ++refused;
    }
  }
  EXPECT_GT(read, mutations / 50);
  EXPECT_GT(refused, mutations / 5);
}

void Fuzz::mutate_networks(std::uint64_t seed, int mutations) {
  const std::string good = read_text(MGCOMPARE_SOURCE_DIR "/configs/models/keras_bn_cnn.yaml");
  Mutator mutator(seed);
  for (int i = 0; i < mutations; ++i) {
    write("models/m.yaml", mutator.mutate(good));
    try {
      const Config config = this->read("model: m\nstrategies: [serial]\n");
      EXPECT_EQ(config_hash(this->read(resolved_yaml(config))), config_hash(config)) << resolved_yaml(config);
    } catch (const ConfigError& error) {
      ASSERT_FALSE(error.problems().empty());
    }
  }
}

void expect_noise_refused(std::uint64_t seed, std::uint64_t texts) {
  const Random random(seed, 0);
  for (std::uint64_t i = 0; i < texts; ++i) {
    std::string noise;
    for (std::uint64_t k = 0; k < random.below(1000 * i, 60); ++k) {
      noise += " \n:-[]{}#&*!|>'\"%@`,?ab0~"[random.below(1000 * i + k + 1, 26)];
    }
    std::vector<Problem> problems;
    if (const auto tree = parse_yaml(noise, "noise", problems)) {
      ConfigReader("noise", "", problems).read(*tree);
    }
    EXPECT_FALSE(problems.empty()) << noise;
  }
}

TEST_F(Fuzz, MutatedConfigsAreReadOrRefused) { mutate_configs(1, kMutations); }
TEST_F(Fuzz, MutatedNetworksAreReadOrRefused) { mutate_networks(2, kMutations); }
TEST(FuzzInMemory, NoiseIsRefused) { expect_noise_refused(3, kMutations); }

TEST_F(LongFuzz, MutatedConfigsAreReadOrRefused) { mutate_configs(fresh_seed(), kLongMutations); }
TEST_F(LongFuzz, MutatedNetworksAreReadOrRefused) { mutate_networks(fresh_seed(), kLongMutations); }
TEST(LongFuzzInMemory, NoiseIsRefused) { expect_noise_refused(fresh_seed(), kLongMutations); }

}  // namespace
}  // namespace mgcompare
