#include "model/input_range.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "plan/version.h"

namespace mgcompare::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const StoredValues kBytes = {0, 255, 127.5, 21717.5}, kStandard = {-4, 4, 0, 1};

std::string warning(const PreparationConfig& config, const std::vector<StoredValues>& channels, ElementType element) {
  SampleSpec samples;
  samples.shape = {channels.size(), 5, 5};
  samples.element = element;
  return input_range_warning(config, samples, channels);
}

TEST(InputRange, UsualPreparationsAreNotDoubted) {
  using enum ElementType;
  PreparationConfig config;
  EXPECT_THAT(warning(config, {kBytes}, uint8), IsEmpty());
  EXPECT_THAT(warning(config, {kStandard, kStandard}, float32), IsEmpty());
  config.mean = {0.485, 0.456, 0.406};
  config.std = {0.229, 0.224, 0.225};
  EXPECT_THAT(warning(config, {kBytes, kBytes, kBytes}, uint8), IsEmpty());
  config = {};
  config.scale = 1;
  config.mean = {127.5};
  config.std = {127.5};
  EXPECT_THAT(warning(config, {kBytes}, uint8), IsEmpty());
  // A one-hot vector of 100,000 values.
  EXPECT_THAT(warning({}, {{0, 1, 1e-5, 1e-5}}, float32), IsEmpty());
  // Features of different size, each standardised.
  config = {};
  config.mean = {1e6, 0.5};
  config.std = {1e5, 0.1};
  EXPECT_THAT(warning(config, {{7e5, 1.3e6, 1e6, 1e12 + 1e10}, {0.2, 0.8, 0.5, 0.26}}, float32), IsEmpty());
}

TEST(InputRange, FarValuesAreDoubtedWithTheRemedy) {
  using enum ElementType;
  EXPECT_THAT(warning({}, {kBytes}, float32), AllOf(HasSubstr("a root mean square of 147"), HasSubstr("set `data.scale`, for instance to 0.00392")));
  PreparationConfig config;
  config.mean = {127.5};
  EXPECT_THAT(warning(config, {kBytes}, uint8), HasSubstr("`data.mean` is subtracted after the factor `data.scale` (0.00392)"));
  config = {};
  config.scale = 1.0 / 255;
  EXPECT_THAT(warning(config, {{0, 1, 0.5, 0.3}}, float32), HasSubstr("no value above 0.00392"));
}

TEST(InputRange, TokensHaveNone) {
  SampleSpec samples;
  samples.shape = {1};
  samples.element = ElementType::int64;
  samples.tokens = 5000;
  EXPECT_THAT(input_range_warning({}, samples, {{0, 4999, 2500, 8e6}}), IsEmpty());
}

TEST(InputRange, ShippedConfigsAreNotDoubted) {
  for (const auto& entry : std::filesystem::directory_iterator(MGCOMPARE_SOURCE_DIR "/configs")) {
    if (entry.path().extension() != ".yaml") continue;
    const Config config = read_config(entry.path().string());
    const std::size_t channels = config.data.set == DataSource::cifar10 ? 3 : 1;
    for (const Version& version : versions_of(config))
      EXPECT_THAT(warning(version.config.data.prepare, std::vector(channels, kBytes), ElementType::uint8), IsEmpty()) << entry.path();
  }
}

}  // namespace
}  // namespace mgcompare::testing
