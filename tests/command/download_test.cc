// The module for downloads, beside the program and missing there. Nothing is downloaded: its mirrors cannot be reached.

#include <gmock/gmock.h>

#include <filesystem>

#include "rig.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class Downloads : public CommandTest {
 protected:
  Ended run(const std::string& fallback) const {
    const std::string config = place_.write("fine.yaml", small_config("scaling: {devices: [cpu:1], batch: 64}\nstrategies: [serial]\nmeasure: quick\n"));
    // A proxy that is not there, so that no name is looked up and no host is reached.
    return place_.run({config, "-o", "run", "--set", "data.set=mnist", "--set", "data.fallback=" + fallback},
                      {{"MGCOMPARE_DATA", ""}, {"XDG_CACHE_HOME", (place_.folder() / "cache").string()}, {"https_proxy", "http://127.0.0.1:1"}});
  }
};

TEST_F(Downloads, AreMadeByTheModuleBesideTheProgram) {
  const Ended ended = run("null");
  EXPECT_NE(ended.code, 0);
  EXPECT_THAT(ended.err, HasSubstr("cannot be downloaded (https://"));
  EXPECT_THAT(ended.err, HasSubstr("127.0.0.1 port 1")) << "libcurl says what it could not reach";
}

TEST_F(Downloads, WithoutTheModuleAreAnErrorOrTheFallback) {
  place_.use_own_program();
  ASSERT_FALSE(fs::exists(place_.folder() / "lib/mgcompare/transfer_https.so"));
  const Ended ended = run("null");
  EXPECT_NE(ended.code, 0);
  EXPECT_THAT(ended.err, HasSubstr("this build has no module for downloads; build or install the program again"));
  const Ended drawn = run("digits");
  EXPECT_EQ(drawn.code, 0) << drawn.err;
  EXPECT_THAT(drawn.err, Not(HasSubstr("error")));
  EXPECT_EQ(read_run((place_.folder() / "run").string()).rows.front().result.status, TrialStatus::done);
}

}  // namespace
}  // namespace mgcompare
