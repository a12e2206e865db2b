#include "plan/further_block.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/config/planning.h"

namespace mgcompare {
namespace {

class FurtherBlock : public Planning {
 protected:
  const std::string text_ = "scaling: {devices: [1, 2, 3], batch: [64, 128]}\nseeds: [2, 7]\nstrategies: [single, sums]";
};

std::set<std::string> rows_of(const std::vector<Trial>& trials) {
  std::set<std::string> rows;
  for (const Trial& trial : trials)
    if (trial.is_repeat()) rows.insert(row_name(trial));
  return rows;
}

TEST_F(FurtherBlock, HasEveryRowOnceWithAnUnusedSeed) {
  const Plan whole = plan(text_);
  const std::vector<std::uint64_t> seeds = {1, 3, 4, 5, 6, 8};
  for (std::size_t k = 0; k < seeds.size(); ++k) {
    const int number = 3 + static_cast<int>(k);
    const std::vector<Trial> block = further_block(whole, number);
    EXPECT_EQ(rows_of(block), rows_of(whole.trials));
    EXPECT_EQ(block.size(), rows_of(whole.trials).size());
    for (const Trial& trial : block) {
      EXPECT_EQ(trial.seed, seeds[k]);
      EXPECT_EQ(trial.block, number);
    }
  }
}

TEST_F(FurtherBlock, HasNumbersOfItsOwn) {
  const Plan whole = plan(text_);
  std::set<int> numbers;
  std::size_t count = whole.trials.size();
  for (const Trial& trial : whole.trials) numbers.insert(trial.number);
  for (const int number : {3, 4, 5}) {
    const std::vector<Trial> block = further_block(whole, number);
    count += block.size();
    for (const Trial& trial : block) numbers.insert(trial.number);
  }
  EXPECT_EQ(numbers.size(), count);
}

TEST_F(FurtherBlock, IsFoundAgainInAPlanThatHasOthers) {
  Plan whole = plan(text_);
  const std::vector<Trial> before = further_block(whole, 4);
  for (Trial& trial : further_block(whole, 3)) whole.trials.push_back(std::move(trial));
  const std::vector<Trial> after = further_block(whole, 4);
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].number, before[i].number);
    EXPECT_EQ(row_name(after[i]), row_name(before[i]));
  }
}

TEST_F(FurtherBlock, HasAnOrderOfItsOwn) {
  const Plan whole = plan(text_);
  const auto order = [&](int number) {
    std::vector<std::string> names;
    for (const Trial& trial : further_block(whole, number)) names.push_back(row_name(trial));
    return names;
  };
  EXPECT_NE(order(3), order(4));
}

TEST_F(FurtherBlock, OfAPriceIsTheSame) {
  const std::vector<Trial> free = further_block(plan(text_), 3), paid = further_block(plan(text_ + "\nprice_per_device_hour: 2"), 3);
  ASSERT_EQ(free.size(), paid.size());
  for (std::size_t i = 0; i < free.size(); ++i) EXPECT_EQ(nlohmann::json(free[i].config), nlohmann::json(paid[i].config));
}

}  // namespace
}  // namespace mgcompare
