// Lies about single samples, learning rates and numbers of ranks, and honest sums in any order.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "verified.h"

namespace mgcompare {
namespace {

using ::testing::ContainsRegex, ::testing::HasSubstr;
using testing::Verified, testing::failures, testing::verify_faulty;

// For as long as it lives.
class Rates {
 public:
  explicit Rates(const char* lie) { setenv("SERVER_RATES", lie, 1); }
  ~Rates() { unsetenv("SERVER_RATES"); }
};

class VerifyRates : public ::testing::TestWithParam<const char*> {};

TEST_P(VerifyRates, WrongOnesFail) {
  const Rates rates(GetParam());
  EXPECT_THAT(failures(verify_faulty("server", {})), HasSubstr("gradients are applied at the learning rate of their step, or less if they are stale"));
}

INSTANTIATE_TEST_SUITE_P(All, VerifyRates, ::testing::Values("larger", "zero", "small for others"));

TEST(VerifyRates, LowerOnesForStaleGradientsPass) {
  const Verified verified = verify_faulty("server", {});
  EXPECT_TRUE(verified.passed) << failures(verified);
}

}  // namespace
}  // namespace mgcompare
