// What a plugin declares wrong about its options is its own fault, and told as such.

#include "modules/strategy_options.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

namespace mgcompare {
namespace {

using ::testing::HasSubstr;

// The texts of the defects that these calls declare.
std::vector<std::string> defects(const std::function<void(Options&)>& declare) {
  StrategyOptions options({});
  declare(options);
  std::vector<std::string> texts;
  for (const OptionProblem& problem : options.problems()) {
    EXPECT_TRUE(problem.of_plugin) << problem.text;
    texts.push_back(problem.text);
  }
  return texts;
}

std::string defect(const std::function<void(Options&)>& declare) {
  const std::vector<std::string> all = defects(declare);
  EXPECT_EQ(all.size(), 1u) << ::testing::PrintToString(all);
  return all.empty() ? "" : all.front();
}

TEST(StrategyOptions, ImpossibleDeclarationsAreDefectsOfThePlugin) {
  EXPECT_EQ(defect([](Options& o) { o.integer("every", 0, "", 1, 9); }),
            "declares the option 'every' with the default 0, which is not in its range: 1 to 9; correct it, and build the plugin again");
  EXPECT_THAT(defect([](Options& o) { o.integer("every", 5, "", 9, 1); }), HasSubstr("'every' with the minimum 9, which is not below the maximum 1"));
  EXPECT_THAT(defect([](Options& o) { o.number("rate", 2, "", 0, 1); }), HasSubstr("'rate' with the default 2, which is not in its range: 0 to 1"));
  EXPECT_THAT(defect([](Options& o) { o.number("rate", std::nan(""), "", 0, 1); }), HasSubstr("the default nan"));
  EXPECT_THAT(defect([](Options& o) { o.number_or_auto("rate", "", 1, 0); }), HasSubstr("the minimum 1"));
  EXPECT_THAT(defect([](Options& o) { o.choice("how", "", "", {}); }), HasSubstr("'how' with no values to choose from"));
  EXPECT_THAT(defect([](Options& o) { o.choice("how", "c", "", {"a", "b"}); }), HasSubstr("the default 'c', which is not one of its values: a | b"));
  EXPECT_THAT(defect([](Options& o) { o.choice("how", "a", "", {"a", "b", "a"}); }), HasSubstr("with one value twice: a | b | a"));
  EXPECT_THAT(defect([](Options& o) { o.integer("every", 1, ""), o.flag("every", true, ""); }), HasSubstr("'every' twice, in different ways"));
  EXPECT_THAT(defect([](Options& o) { o.flag("", true, ""); }), HasSubstr("'' without a name"));
}

TEST(StrategyOptions, AnOptionMayBeReadAgainAndBeAtTheEndsOfItsRange) {
  EXPECT_EQ(defects([](Options& o) {
              for (int i = 0; i < 2; ++i) o.integer("every", 1, "steps", 1, 1);
              o.number("rate", 0, "", 0, 1);
              o.number_or_auto("other", "", 1, 1);
              o.choice("how", "b", "", {"a", "b"});
            }), std::vector<std::string>());
}

TEST(StrategyOptions, DefectsAreToldBeforeWrongValues) {
  StrategyOptions options({{"every", "20", false, {}}});
  options.integer("every", 0, "", 1, 9);
  const std::vector<OptionProblem> problems = options.problems();
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_TRUE(problems[0].of_plugin);
  EXPECT_EQ(problems[1].text, "must be an integer, 1 to 9, not '20'");
}

}  // namespace
}  // namespace mgcompare
