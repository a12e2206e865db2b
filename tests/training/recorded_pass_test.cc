#include "runtime/graph_pass.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "fakes/clocked_platform.h"
#include "fixture.h"

namespace mgcompare {
namespace {

using testing::run;
using testing::small_trial;

// Writes down its calls.
class NotingRecorder : public GraphRecorder {
 public:
  explicit NotingRecorder(std::vector<std::string>& notes) : notes_(notes) {}
  void begin_epoch(std::size_t, const std::vector<std::uint32_t>&, const std::vector<float>&) override {}
  void begin() override { notes_.emplace_back("begin"); }
  void begin_step(std::size_t) override {}
  void end_step() override {}
  void begin_pass(std::size_t position) override { notes_.push_back("from " + std::to_string(position)); }
  std::size_t end() override {
    notes_.emplace_back("end");
    return recordings_++;
  }
  void seek(std::size_t) override {}
  void place(std::size_t position, std::size_t epoch) override {
    notes_.push_back("place " + std::to_string(position) + " of epoch " + std::to_string(epoch));
  }
  void repeat(std::size_t recording) override { notes_.push_back("repeat " + std::to_string(recording)); }
  double loss() const override { return 0; }
  std::vector<StepRecord> take_records() override { return {}; }

 private:
  std::vector<std::string>& notes_;
  std::size_t recordings_ = 0;
};

class Pass : public ::testing::Test {
 protected:
  GraphPass recorded(const std::vector<GraphPass::Sample>& seen = {}) {
    return {std::make_unique<NotingRecorder>(notes_),
            [this](const GraphPass::Sample& one) { notes_.push_back("pass of " + std::to_string(one.batch.size())); }, seen};
  }
  GraphPass::Sample sample(std::size_t epoch, std::size_t begin, std::size_t size, Scale scale = Scale::global_batch) const {
    return {Batch({epoch, 0, begin, size, 1, 2, 0.1}, shape_), scale};
  }
  std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

  const Shape shape_ = {1};
  std::vector<std::string> notes_;
};

using Notes = std::vector<std::string>;

TEST_F(Pass, IsRepeatedOnceItWasSeenAndRecorded) {
  GraphPass pass = recorded();
  pass.run(sample(0, 0, 10));
  pass.run(sample(0, 10, 10));
  EXPECT_EQ(take_notes(), Notes({"pass of 5", "pass of 5"})) << "nothing is recorded within a step";
  pass.capture();
  EXPECT_EQ(take_notes(), Notes({"begin", "from 5", "pass of 5", "end"})) << "one of a shape";
  pass.run(sample(3, 20, 10));
  EXPECT_EQ(take_notes(), Notes({"place 25 of epoch 3", "repeat 0"}));
  pass.capture();
  EXPECT_EQ(take_notes(), Notes());
}

TEST_F(Pass, HasARecordingOfItsOwnForEachShapeAndScale) {
  GraphPass pass = recorded();
  pass.run(sample(0, 0, 10));
  pass.run(sample(0, 0, 10, Scale::own_share));
  pass.run(sample(0, 0, 9));  // the same number of samples, another scale
  pass.run(sample(0, 0, 0));  // an empty share
  pass.capture();
  take_notes();
  for (int again = 0; again < 2; ++again) {
    std::set<std::string> repeated;
    for (const GraphPass::Sample& each : {sample(0, 0, 10), sample(0, 0, 10, Scale::own_share), sample(0, 0, 9)}) {
      pass.run(each);
      repeated.insert(take_notes().back());
    }
    EXPECT_EQ(repeated, std::set<std::string>({"repeat 0", "repeat 1", "repeat 2"}));
    pass.run(sample(0, 0, 0));
    EXPECT_EQ(take_notes(), Notes({"pass of 0"}));
  }
}

TEST_F(Pass, IsRecordedAtOnceWhereItsShapeWasSeenBefore) {
  GraphPass before = recorded();
  before.run(sample(0, 0, 10));
  GraphPass pass = recorded(before.seen());
  pass.capture();
  take_notes();
  pass.run(sample(0, 30, 10));
  EXPECT_EQ(take_notes(), Notes({"place 35 of epoch 0", "repeat 0"}));
}

// Number of ranks that are inside a step.
std::atomic<int> in_steps = 0;

class ByTheHost : public Strategy {
 public:
  explicit ByTheHost(Traits::Pace pace) : scheduler_(pace) {}
  Traits traits() const override { return {.pace = scheduler_}; }
  void step(Replica& replica, Group& group, const Batch& batch) override {
    ++in_steps;
    replica.backward(batch);
    if (scheduler_ == Traits::Pace::lockstep) group.all_reduce(replica.gradients());
    else group.exclusive(0, [] {});
    replica.update();
    --in_steps;
  }

 private:
  Traits::Pace scheduler_;
};

// Counts its calls, and takes long enough for a concurrent step to be noticed.
class CountingRecorder : public GraphRecorder {
 public:
  struct Counts {
    std::atomic<int> recordings = 0, repetitions = 0, beside_steps = 0;
  };
  explicit CountingRecorder(Counts& counts) : counts_(counts) {}
  void begin_epoch(std::size_t, const std::vector<std::uint32_t>&, const std::vector<float>&) override {}
  void begin() override {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    counts_.beside_steps += in_steps;
  }
  void begin_step(std::size_t) override {}
  void end_step() override {}
  void begin_pass(std::size_t) override {}
  std::size_t end() override {
    counts_.beside_steps += in_steps;
    ++counts_.recordings;
    return 0;
  }
  void seek(std::size_t) override {}
  void place(std::size_t, std::size_t) override {}
  void repeat(std::size_t) override { ++counts_.repetitions; }
  double loss() const override { return 0; }
  std::vector<StepRecord> take_records() override { return {}; }

 private:
  Counts& counts_;
};

struct Way {
  const char* name;
  Traits::Pace pace;
  bool deterministic;
};

class PassesOfATrial : public ::testing::TestWithParam<Way> {};

// A capture that is made while another rank waits in an exchange could wait for that rank.
TEST_P(PassesOfATrial, AreRecordedWhileNoRankIsInAStep) {
  std::array<CountingRecorder::Counts, 4> counts;  // of two ranks in warm-up, then in training
  std::atomic<std::size_t> recorders = 0;
  ClockedPlatform platform;
  platform.make_pass_recorder = [&] { return std::make_unique<CountingRecorder>(counts.at(recorders++)); };
  Trial trial = small_trial(2);
  trial.config.deterministic = GetParam().deterministic;
  run(trial, [](Options&, const Facts&) { return std::make_unique<ByTheHost>(GetParam().pace); },
      [&](TrainingRequest& request) {
        request.platform = &platform;
        request.evaluate = false;  // on a CPU the captured work also runs, and would be counted
      });
  EXPECT_EQ(recorders, 4u);
  for (const CountingRecorder::Counts& each : counts) EXPECT_EQ(each.beside_steps, 0);
  for (const std::size_t rehearsing : {0, 1}) {
    EXPECT_EQ(counts[rehearsing].recordings, 2) << "of a full batch and of the last, shorter one";
    EXPECT_GT(counts[rehearsing].repetitions, 0);
  }
  // An epoch has 15 steps of two ranks, or 30 draws. All are replays, because the warm-up has seen passes of both sizes.
  constexpr int kPasses = 60;
  EXPECT_EQ(counts[2].repetitions + counts[3].repetitions, kPasses);
}

INSTANTIATE_TEST_SUITE_P(All, PassesOfATrial,
                         ::testing::Values(Way{"lockstep", Traits::Pace::lockstep, false},
                                           Way{"free", Traits::Pace::free, false},
                                           Way{"in_virtual_time", Traits::Pace::free, true}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace mgcompare
