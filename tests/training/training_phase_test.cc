#include "train/training_phase.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "base/rank_threads.h"

namespace mgcompare {
namespace {

using enum TrainingPhase;

// Runs body(rank) on one thread per rank and returns the text of the first error; empty if there was none.
template <class Body> std::string error_of_ranks(PhaseBarrier& phases, std::size_t ranks, Body body) {
  try {
    run_ranks(ranks, [&](int rank) { body(static_cast<std::size_t>(rank)); }, [&] { phases.abort(); });
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "";
}

TEST(PhaseBarrier, FollowsATrialFromSetupToTeardown) {
  PhaseBarrier phases(3);
  const std::string error = error_of_ranks(phases, 3, [&](std::size_t rank) {
    phases.wait(rank);
    for (const TrainingPhase next : {warm_up, capture, warm_up, warm_up_end, setup, start, epoch, evaluation, checkpoint,
                                     epoch, evaluation, epoch, evaluation, teardown}) {
      phases.enter(next, rank);
      EXPECT_EQ(phases.phase_of(rank), next);
      phases.wait(rank);
      phases.wait(rank);
    }
  });
  EXPECT_EQ(error, "");
}

TEST(PhaseBarrier, AllRanksArriveBeforeOneGoesOn) {
  constexpr std::size_t kRanks = 4, kRounds = 200;
  PhaseBarrier phases(kRanks);
  std::vector<std::size_t> rounds(kRanks, 0);
  const std::string error = error_of_ranks(phases, kRanks, [&](std::size_t rank) {
    for (std::size_t round = 1; round <= kRounds; ++round) {
      rounds[rank] = round;
      phases.wait(rank);
      for (const std::size_t other : rounds) EXPECT_EQ(other, round);
      phases.wait(rank);
    }
  });
  EXPECT_EQ(error, "");
}

TEST(PhaseBarrier, RejectsAnIllegalTransition) {
  PhaseBarrier phases(2);
  const std::string error = error_of_ranks(phases, 2, [&](std::size_t rank) { phases.enter(evaluation, rank); });
  EXPECT_NE(error.find("cannot go from phase 'setup' to phase 'evaluation'"), std::string::npos) << error;
}

TEST(PhaseBarrier, RejectsAnIllegalTransitionOfOneRankWhileOthersWait) {
  PhaseBarrier phases(3);
  const std::string error = error_of_ranks(phases, 3, [&](std::size_t rank) {
    if (rank == 1) phases.enter(checkpoint, rank);
    else phases.wait(rank);
  });
  EXPECT_EQ(error, "rank 1 cannot go from phase 'setup' to phase 'checkpoint'");
}

TEST(PhaseBarrier, RejectsRanksThatEnterDifferentPhases) {
  PhaseBarrier phases(2);
  const std::string error =
      error_of_ranks(phases, 2, [&](std::size_t rank) { phases.enter(rank == 0 ? warm_up : start, rank); });
  EXPECT_NE(error.find("while other ranks wait in phase"), std::string::npos) << error;
  EXPECT_NE(error.find("'warm-up'"), std::string::npos) << error;
  EXPECT_NE(error.find("'start'"), std::string::npos) << error;
}

TEST(PhaseBarrier, RejectsARankThatStaysWhileOthersGoOn) {
  PhaseBarrier phases(2);
  const std::string error = error_of_ranks(phases, 2, [&](std::size_t rank) {
    phases.enter(start, rank);
    phases.enter(epoch, rank);
    if (rank == 0) phases.wait(rank);
    else phases.enter(evaluation, rank);
  });
  EXPECT_NE(error.find("while other ranks wait in phase"), std::string::npos) << error;
}

TEST(PhaseBarrier, NoPhaseFollowsItself) {
  for (int phase = 0; phase <= static_cast<int>(teardown); ++phase) {
    const auto each = static_cast<TrainingPhase>(phase);
    EXPECT_FALSE(may_follow(each, each)) << to_string(each);
    EXPECT_FALSE(may_follow(teardown, each)) << to_string(each);
  }
}

TEST(PhaseBarrier, AbortReleasesRanksThatWait) {
  PhaseBarrier phases(2);
  EXPECT_THROW(run_ranks(2,
                         [&](int rank) {
                           if (rank == 0) throw Error("planted");
                           phases.wait(1);
                         },
                         [&] { phases.abort(); }),
               Error);
  EXPECT_THROW(phases.wait(0), Aborted);
}

}  // namespace
}  // namespace mgcompare
