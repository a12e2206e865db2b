#include "process/message.h"
#include "base/text.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>

#include "base/json_text.h"
#include "mgcompare/error.h"
#include "plan/evaluations.h"
#include "results/result.h"
#include "results/weight_sketch.h"

namespace mgcompare {
namespace {

std::string frame(const std::string& text) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>((text.size() >> (8 * i)) & 0xff));
  return bytes + text;
}

TEST(Message, ArrivesWholeHoweverItIsCut) {
  const std::string bytes = frame(R"({"kind":"a","sequence":0,"body":[1,2]})") + frame(R"({"kind":"b","sequence":1,"body":null})");
  MessageReader reader;
  std::vector<Message> seen;
  for (const char byte : bytes) {
    reader.feed({&byte, 1});
    while (auto message = reader.next()) seen.push_back(*message);
  }
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].kind, "a");
  EXPECT_EQ(seen[0].body, nlohmann::json({1, 2}));
  EXPECT_EQ(seen[1].kind, "b");
}

TEST(Message, WhatTheWriterSendsTheReaderReads) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  MessageWriter writer(ends[0]);
  MessageReader reader;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(writer.send("n", {{"i", i}, {"broken", "\xff"}}));
    char bytes[256];
    reader.feed({bytes, static_cast<std::size_t>(read(ends[1], bytes, sizeof(bytes)))});
    EXPECT_EQ(reader.next()->body["i"], i);
  }
  close(ends[1]);
  EXPECT_FALSE(writer.send("n", 1)) << "and no SIGPIPE";
  EXPECT_THROW(writer.send("n", std::string(kMessageLimit + 1, 'x')), Error);
  close(ends[0]);
}

// With every figure of an epoch, in as many digits as a number can have.
TEST(Message, HoldsTheResultOfTheLongestTrial) {
  const double digits = -1.2345678901234567e-89;
  const std::string sketch = sketch_of({1, 2, 3});
  EpochResult epoch;
  for (double* figure : {&epoch.loss, &epoch.train_accuracy, &epoch.accuracy, &epoch.test_loss, &epoch.seconds_training, &epoch.seconds_evaluation,
                         &epoch.seconds_reported, &epoch.seconds_unclocked}) *figure = digits;
  epoch.sketch = epoch.statistics_sketch = sketch;
  epoch.ranks_apart = epoch.repeats_samples = epoch.ranks_moved = 16;
  Result result;
  result.epochs.assign(1000, epoch);
  EXPECT_LT(json_text(nlohmann::json(result)).size() * (kMostEvaluations / 1000), kMessageLimit * 9 / 10);
}

TEST(Message, RefusesWhatIsNone) {
  const auto read_one = [](const std::string& bytes) {
    MessageReader reader;
    reader.feed(bytes);
    reader.next();
  };
  EXPECT_THROW(read_one(std::string("\xff\xff\xff\x7f", 4)), Error);
  EXPECT_THROW(read_one(frame("{")), Error);
  EXPECT_THROW(read_one(frame("[]")), Error);
  EXPECT_THROW(read_one(frame(R"({"kind":1,"sequence":0,"body":0})")), Error);
  EXPECT_THROW(read_one(frame(R"({"kind":"a","sequence":1,"body":0})")), Error) << "out of order";
  EXPECT_THROW(read_one(frame(std::string(1 << 20, '['))), Error) << "nested without end";
  // A recursive copy of it would overflow the stack.
  const std::string deep = std::string(1 << 20, '[') + std::string(1 << 20, ']');
  EXPECT_THROW(read_one(frame(R"({"kind":"a","sequence":0,"body":)" + deep + "}")), Error);
  const std::string flat = std::string(60, '[') + std::string(60, ']');
  EXPECT_NO_THROW(read_one(frame(R"({"kind":"a","sequence":0,"body":)" + flat + "}")));
}

TEST(Message, RandomBytesNeverCrashTheReader) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = frame(R"({"kind":"a","sequence":0,"body":{"x":[1,2,3]}})");
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    MessageReader reader;
    reader.feed(bytes);
    try {
      while (reader.next()) {
      }
    } catch (const Error&) {
    }
  }
}

TEST(Sanitized, KeepsTextAndDropsWhatTerminalsObey) {
  EXPECT_EQ(plain("\x1b[1;31mred\x1b[0m \x1b]0;title\apl\x07" "ain\t.\r\n"), "red plain .");
  EXPECT_EQ(plain("caf\xc3\xa9 \xc2\x9b" "31m"), "caf\xc3\xa9 31m");
  EXPECT_EQ(plain("bad \xff"), "bad \xef\xbf\xbd");
  EXPECT_EQ(plain("\x1b["), "");
}

}  // namespace
}  // namespace mgcompare
