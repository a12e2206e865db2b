// The environment variables of a backend.

#include <gmock/gmock.h>

#include <cstdlib>

#include "backends/backend_process.h"

namespace mgcompare {
namespace {

using testing::Contains;
using testing::Not;

// What a trial before it has set in the same process must not change what a framework does.
TEST(BackendEnvironment, HasNoVariablesThatTheProgramSetForNccl) {
  setenv("NCCL_OF_A_TRIAL_BEFORE", "0", 1);
  setenv("OF_A_TRIAL_BEFORE", "0", 1);
  const std::vector<std::string> variables = backend_environment("/module");
  EXPECT_THAT(variables, Not(Contains("NCCL_OF_A_TRIAL_BEFORE=0")));
  EXPECT_THAT(variables, Contains("OF_A_TRIAL_BEFORE=0"));
  EXPECT_THAT(variables, Contains("PYTHONSAFEPATH=1"));
  unsetenv("NCCL_OF_A_TRIAL_BEFORE");
  unsetenv("OF_A_TRIAL_BEFORE");
}

}  // namespace
}  // namespace mgcompare
