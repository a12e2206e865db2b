// The environment variables of a backend.

#include <gmock/gmock.h>

#include <cstdlib>

#include "backends/backend_process.h"

namespace mgcompare {
namespace {

using testing::Contains;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;

class BackendEnvironment : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : kNames) setenv(name, "0", 1);
  }
  void TearDown() override {
    for (const char* name : kNames) unsetenv(name);
  }
  static constexpr const char* kNames[] = {"NCCL_OF_A_TRIAL_BEFORE", "NCCL_OF_THE_USER", "OF_A_TRIAL_BEFORE"};
};

// What a trial before it has set in the same process must not change what a framework does.
TEST_F(BackendEnvironment, HasTheVariablesOfNcclWithWhichTheProgramBegan) {
  const std::vector<std::string> variables = backend_environment("/module", {"NCCL_OF_THE_USER=1", "OF_THE_USER=1"});
  EXPECT_THAT(variables, IsSupersetOf({"NCCL_OF_THE_USER=1", "OF_A_TRIAL_BEFORE=0", "PYTHONSAFEPATH=1"}));
  EXPECT_THAT(variables, Not(Contains("NCCL_OF_THE_USER=0")));
  EXPECT_THAT(variables, Not(Contains(StartsWith("NCCL_OF_A_TRIAL_BEFORE"))));
  EXPECT_THAT(variables, Not(Contains(StartsWith("OF_THE_USER"))));
  EXPECT_THAT(backend_environment("", {}), IsSupersetOf({"NCCL_OF_THE_USER=0", "NCCL_OF_A_TRIAL_BEFORE=0"})) << "where they could not be read";
}

TEST_F(BackendEnvironment, KnowsTheVariablesWithWhichTheProgramBegan) {
  EXPECT_THAT(variables_at_start(), Contains(StartsWith("PATH=")));
  EXPECT_THAT(variables_at_start(), Not(Contains("NCCL_OF_A_TRIAL_BEFORE=0")));
}

}  // namespace
}  // namespace mgcompare
