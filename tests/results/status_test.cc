#include "results/status.h"

#include <gtest/gtest.h>

#include <array>
#include <string_view>
#include <utility>

#include "mgcompare/error.h"

namespace mgcompare {
namespace {

TEST(Status, NamesAreThoseOfTheFilesOfARun) {
  constexpr std::array<std::pair<TrialStatus, std::string_view>, 9> kNames = {
      {{TrialStatus::done, "done"},
       {TrialStatus::diverged, "diverged"},
       {TrialStatus::failed, "failed"},
       {TrialStatus::crashed, "crashed"},
       {TrialStatus::timeout, "timeout"},
       {TrialStatus::out_of_memory, "out of memory"},
       {TrialStatus::device_lost, "device lost"},
       {TrialStatus::unavailable, "unavailable"},
       {TrialStatus::interrupted, "interrupted"}}};
  for (const auto& [status, name] : kNames) {
    EXPECT_EQ(to_string(status), name);
    EXPECT_EQ(trial_status_of(name), status);
  }
}

TEST(Status, NamesOfRowStatesAndPhases) {
  for (const RowState state : {RowState::pending, RowState::running, RowState::finished})
    EXPECT_EQ(row_state_of(to_string(state)), state);
  EXPECT_EQ(to_string(RowState::pending), "pending");
  EXPECT_EQ(to_string(RowState::running), "running");
  EXPECT_EQ(to_string(RowState::finished), "finished");
  for (const TrialPhase phase : {TrialPhase::none, TrialPhase::setup, TrialPhase::warm_up, TrialPhase::training,
                                 TrialPhase::evaluation, TrialPhase::checkpoint, TrialPhase::teardown})
    EXPECT_EQ(trial_phase_of(to_string(phase)), phase);
  EXPECT_EQ(to_string(TrialPhase::warm_up), "warm-up");
}

TEST(Status, UnknownNamesAreErrors) {
  EXPECT_THROW(trial_status_of("Done"), Error);
  EXPECT_THROW(trial_status_of(""), Error);
  EXPECT_THROW(row_state_of("ready"), Error);
  EXPECT_THROW(trial_phase_of("lunch"), Error);
}

}  // namespace
}  // namespace mgcompare
