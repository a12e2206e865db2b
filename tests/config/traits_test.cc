#include "plan/trait_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "mgcompare/error.h"

namespace mgcompare {
namespace {

using ::testing::HasSubstr;

std::string refusal_of(const Traits& traits) {
  try {
    expect_possible_traits("mine", traits);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Traits, ThatNoRowCanHaveAreRefused) {
  EXPECT_EQ(refusal_of({}), "");
  EXPECT_EQ(refusal_of({.least_ranks = 2, .most_ranks = 2, .repeats_every = 4, .stages = {0, 10, 20}}), "");
  EXPECT_THAT(refusal_of({.devices = {}}), HasSubstr("strategy 'mine' has impossible traits: devices is empty"));
  EXPECT_THAT(refusal_of({.promise = Traits::Promise::exact, .role = Traits::Role::ceiling}), HasSubstr("promise is exact and role is ceiling"));
  EXPECT_THAT(refusal_of({.promise = Traits::Promise::exact, .models = Traits::Models::many}), HasSubstr("promise is exact and models is many"));
  EXPECT_THAT(refusal_of({.least_ranks = 0}), HasSubstr("least_ranks is 0"));
  EXPECT_THAT(refusal_of({.least_ranks = 3, .most_ranks = 2}), HasSubstr("most_ranks is 2, less than least_ranks, 3"));
  EXPECT_THAT(refusal_of({.repeats_every = -1}), HasSubstr("repeats_every is -1"));
  EXPECT_THAT(refusal_of({.stages = {5, 5}}), HasSubstr("stages do not ascend"));
  std::vector<std::size_t> stages(2000);
  std::iota(stages.begin(), stages.end(), std::size_t{1});
  EXPECT_THAT(refusal_of({.stages = stages}), HasSubstr("there are 2000 stages"));
}

TEST(Traits, ThatChangeAreNamed) {
  const TraitTexts before = texts_of({.least_ranks = 2});
  EXPECT_NO_THROW(expect_same_traits("mine", before, {.least_ranks = 2}));
  try {
    expect_same_traits("mine", before, {.least_ranks = 3});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("strategy 'mine' changes its traits: least_ranks was '2' and is now '3'"));
  }
}

}  // namespace
}  // namespace mgcompare
