// How long the rest of a verification takes.

#include "services/verify_pace.h"

#include <gtest/gtest.h>

namespace mgcompare {
namespace {

TEST(VerifyPace, KnowsNothingBeforeTheFirstRow) {
  VerifyPace pace;
  pace.begin(3, 3, 0);
  EXPECT_EQ(pace.seconds_left(), 0);
}

TEST(VerifyPace, CountsBothPassesAndLaterVersions) {
  VerifyPace pace;
  pace.begin(2, 2, 3);
  pace.checked(10, true);
  // One row of this version and three of later ones take 10 s each, and the checks in another process of two and three rows a tenth of it.
  EXPECT_DOUBLE_EQ(pace.seconds_left(), 4 * 10 + 5 * 1);
  pace.checked(20, true);
  EXPECT_DOUBLE_EQ(pace.seconds_left(), 3 * 15 + 5 * 1.5);
  pace.checked_again(4);
  EXPECT_DOUBLE_EQ(pace.seconds_left(), 3 * 15 + 4 * 4) << "as measured from here on";
  pace.checked_again(4);
  pace.begin(3, 3, 0);
  EXPECT_DOUBLE_EQ(pace.seconds_left(), 3 * 15 + 3 * 4) << "the next version begins with what is known";
}

TEST(VerifyPace, RowsThatFailedAreNotCheckedAgain) {
  VerifyPace pace;
  pace.begin(1, 1, 0);
  pace.checked(10, false);
  EXPECT_EQ(pace.seconds_left(), 0);
}

}  // namespace
}  // namespace mgcompare
