#include "results/cause.h"

#include <gmock/gmock.h>

#include <new>

#include "platform/platform.h"
#include "train/training.h"

namespace mgcompare {
namespace {

struct Silent : std::exception {
  const char* what() const noexcept override { return nullptr; }
};

// With figures behind it, which depend on the machine.
template <class Thrown> void expect_no_memory(const Thrown& thrown) {
  const Cause cause = cause_of(std::make_exception_ptr(thrown));
  EXPECT_EQ(cause.status, TrialStatus::out_of_memory);
  EXPECT_THAT(cause.sentence, ::testing::MatchesRegex("the host gave no more memory, free .+, total .+"));
}

template <class Thrown> void expect(const Thrown& thrown, const std::string& status, const std::string& sentence) {
  const Cause cause = cause_of(std::make_exception_ptr(thrown));
  EXPECT_EQ(to_string(cause.status), status) << sentence;
  EXPECT_EQ(cause.sentence, sentence);
}

TEST(Cause, SaysWhatTheErrorSays) {
  expect(Diverged("the loss is nan"), "diverged", "the loss is nan");
  expect(Interrupted(), "interrupted", "stopped by the user");
  expect(DeviceLost("it does not answer"), "device lost", "it does not answer");
  expect(OutOfMemory(1000, 10, 100), "out of memory", "asked 1000 bytes, free 10 bytes, total 100 bytes");
  expect(Error("the planted error"), "failed", "the planted error");
  expect(std::logic_error("the planted error"), "failed", "the planted error");
}

TEST(Cause, HasWordsForWhatSaysNothing) {
  expect_no_memory(std::bad_alloc());
  expect_no_memory(std::bad_array_new_length());
  expect(42, "failed", "the plugin threw something that is not an exception");
  expect(Silent(), "failed", "the plugin threw an exception without a text");
}

}  // namespace
}  // namespace mgcompare
