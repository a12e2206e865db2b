#include "reports/fitting_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runs.h"

namespace mgcompare {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Result out_of_memory() {
  Result result;
  result.status = TrialStatus::out_of_memory;
  result.cause = "asked 1000, free 10, total 100";
  return result;
}

TEST(FittingBatches, NamesTheSmallestThatDidNotFitAndTheLargestThatDid) {
  RunMaker maker;
  const Result done = make_result(1000, 8, 0.985);
  for (const std::size_t batch : {64, 512, 256}) maker.add("together", 2, 1, done, batch);
  for (const std::size_t batch : {4096, 2048}) maker.add("together", 2, 1, out_of_memory(), batch);
  maker.add("together", 1, 1, done, 4096);
  EXPECT_THAT(fitting_batches(compare_rows(maker.run)),
              ElementsAre("together on 2 CPU cores ran out of memory with a global batch of 2,048; the largest that fitted is 512"));
}

TEST(FittingBatches, NamesTheOneThatASearchFound) {
  RunMaker maker;
  Result failed = out_of_memory();
  failed.fitting_batch = 960;
  maker.add("together", 2, 1, make_result(1000, 8, 0.985), 512);
  maker.add("together", 2, 1, failed, 4096);
  EXPECT_THAT(fitting_batches(compare_rows(maker.run)),
              ElementsAre("together on 2 CPU cores ran out of memory with a global batch of 4,096; the largest known to fit is 960"));
}

TEST(FittingBatches, SaysThatNoneFitted) {
  RunMaker maker;
  maker.baseline(1, make_result(1000, 8, 0.985));
  maker.add("together", 2, 1, out_of_memory(), 128);
  EXPECT_THAT(fitting_batches(compare_rows(maker.run)),
              ElementsAre("together on 2 CPU cores ran out of memory with a global batch of 128; no batch of this experiment fitted"));
}

TEST(FittingBatches, AreOneSentenceForRowsOfWhichItIsEquallyTrue) {
  RunMaker maker;
  for (const char* strategy : {"together", "apart"})
    for (const std::size_t devices : {1, 2}) maker.add(strategy, devices, 1, out_of_memory(), 128);
  EXPECT_THAT(fitting_batches(compare_rows(maker.run)),
              ElementsAre("together on 1 CPU core, together on 2 CPU cores, apart on 1 CPU core and 1 more ran out of memory with a global batch of 128; "
                          "no batch of this experiment fitted"));
}

TEST(FittingBatches, OfOtherFailuresAreNone) {
  RunMaker maker;
  Result crashed = out_of_memory();
  crashed.status = TrialStatus::crashed;
  maker.baseline(1, make_result(1000, 8, 0.985));
  maker.add("together", 2, 1, crashed, 128);
  EXPECT_THAT(fitting_batches(compare_rows(maker.run)), IsEmpty());
}

}  // namespace
}  // namespace mgcompare
