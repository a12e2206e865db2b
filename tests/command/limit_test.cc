// Limits of the process (ulimit) that are too low: the message names the limit and what to do, and nothing crashes.

#include <gmock/gmock.h>

#include <filesystem>

#include "rig.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Limits : public CommandTest {
 protected:
  Ended with(const std::string& limit, const std::vector<std::string>& words) const {
    return place_.run_by_shell("ulimit " + limit + R"(; exec "$0" "$@")", words);
  }
  std::string config() const {
    return place_.write("fine.yaml", small_config("scaling: {devices: [cpu:1, cpu:2], batch: 64}\nstrategies: [serial, tower]\n"));
  }
};

TEST_F(Limits, OnTheSizeOfAFileAreNamed) {
  // In blocks of 512 bytes: before the first trial, and after some.
  for (const char* blocks : {"-f 16", "-f 220"}) {
    const Ended ended = with(blocks, {config(), "-o", std::string("run") + (blocks + 3)});
    EXPECT_EQ(ended.code, 4) << ended.err;
    EXPECT_THAT(ended.err, AllOf(HasSubstr("File too large (this process may have "), HasSubstr(" bytes in a file: raise the limit with `ulimit -f`)"),
                                 Not(HasSubstr("check the disk"))));
  }
}

TEST_F(Limits, OnOpenFilesAreNamed) {
  for (const int files : {10, 20, 31}) {
    const Ended ended = with("-n " + std::to_string(files), {config(), "-o", "run" + std::to_string(files)});
    EXPECT_EQ(ended.code, 4) << files << ended.err;
    EXPECT_EQ(ended.err, "mgcompare: this process may have " + std::to_string(files) +
                             " open files only, and the program needs 32: raise the limit with `ulimit -n`\n");
  }
  EXPECT_EQ(with("-n 32", {config(), "-o", "run"}).code, 0);
  // Where others took most of them: descriptors that it inherits.
  const Ended taken = place_.run_by_shell("ulimit -n 48; for i in 1 2 3 4 5 6 7; do eval \"exec $((i + 2))</dev/null\"; done; "
                                          R"(ulimit -n 32; exec "$0" "$@")", {config(), "-o", "taken"});
  EXPECT_TRUE(taken.code == 0 || taken.code == 4) << taken.code << taken.err;
  if (taken.code == 4) { EXPECT_THAT(taken.err, AllOf(HasSubstr("Too many open files"), HasSubstr("ulimit -n"))); }
}

TEST_F(Limits, OnTheStackAreNamed) {
  const Ended ended = with("-s 100", {config(), "-o", "run"});
  EXPECT_EQ(ended.code, 4) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("may have a stack of 100 KiB only, and the program needs 256: raise the limit with `ulimit -s`"));
}

// The program itself uses little of it.
TEST_F(Limits, OnProcessorTimeAreNamed) {
  const std::string longer = place_.write("longer.yaml", small_config("scaling: {devices: [cpu:1], batch: 8}\nstrategies: [serial]\n"));
  for (const char* limit : {"-t 2", "-S -t 2"}) {
    const Ended ended = with(limit, {longer, "--set", "epochs=60000", "-o", std::string("run") + limit[1]});
    EXPECT_EQ(ended.code, 3) << ended.err;
    EXPECT_THAT(ended.out + ended.err, HasSubstr("perhaps at its limit of 2 s of processor time: raise it with `ulimit -t`"));
  }
}

// A sanitizer needs terabytes of it.
TEST_F(Limits, OnTheAddressSpaceAreNamed) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer cannot start";
#endif
  const Ended ended = with("-v 250000", {config(), "-o", "run"});
  EXPECT_EQ(ended.code, 4) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("may have 244 MiB of address space only, and the program needs 384, and more for large networks or many "
                                   "ranks: raise the limit with `ulimit -v`"));
  // The modules of GPUs, of which the run knows, do not fit. They are loaded where there is a driver.
  const std::string driver = std::string(MGCOMPARE_BINARY_DIR) + "/lib/mgcompare/fakes/no_gpu";
  ASSERT_EQ(place_.run({config(), "-o", "whole"}, {{"LD_LIBRARY_PATH", driver}}).code, 0);
  const Ended resumed = with("-v 400000; export LD_LIBRARY_PATH=" + driver, {config(), "--resume", "-o", "whole"});
  if (std::filesystem::exists(std::string(MGCOMPARE_BINARY_DIR) + "/lib/mgcompare/platform_cuda.so")) {
    EXPECT_EQ(resumed.code, 4) << resumed.err;
    EXPECT_THAT(resumed.err, AllOf(HasSubstr("whole: out of memory, so this machine cannot be compared with that of the run: "),
                                   HasSubstr("raise the limit with `ulimit -v`")));
  }
  // Each rank has a stack.
  const Ended many = with("-v 450000", {place_.write("many.yaml", small_config("scaling: {devices: [cpu:1, cpu:2], batch: 64, ranks_per_device: 16}\n"
                                                                               "strategies: [tower]\n")), "-o", "many"});
  EXPECT_EQ(many.code, 3) << many.err;
  for (const Row& row : read_run((place_.folder() / "many").string()).rows) {
    if (row.trial.strategy.name != "tower") continue;
    EXPECT_THAT(row.result.cause, HasSubstr("(this process may have 460800000 bytes of address space: raise the limit with `ulimit -v`)"));
  }
}

}  // namespace
}  // namespace mgcompare
