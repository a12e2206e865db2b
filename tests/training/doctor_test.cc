// The doctor on the CPU back end, with sound links and with injected faults.

#include "check/doctor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "check/collective_call.h"
#include "check/host_links.h"
#include "check/joined_hosts.h"
#include "fixture.h"

namespace mgcompare {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kCopyBytes = 4u << 20;  // size of the copies that a brief check times
constexpr auto kSlowCopy = 50ms;
constexpr double kSlowRate = kCopyBytes / 0.05;

// The CPU back end with any number of devices, all of them the first core, and links with injected faults.
class SpoiltPlatform : public Platform {
 public:
  struct Spoiler {
    int from = -1, to = -1;  // copies between these arrive damaged
    int wrong_adder = -1;    // a rank that adds wrongly
    int thief = -1;          // a rank whose exchange throws
    int slow_copies = 0;     // the first so many large copies from rank 2 to rank 1 take kSlowCopy
  };
  explicit SpoiltPlatform(Spoiler spoiler) : spoiler_(spoiler), slow_copies_(spoiler.slow_copies) {}
  DeviceKind kind() const override { return DeviceKind::cpu; }
  std::vector<DeviceInfo> devices() const override { return cpu_.devices(); }
  std::vector<std::pair<std::string, std::string>> facts() const override { return {}; }
  bool reaches(int from, int to) const override { return from + to != 1; }
  std::unique_ptr<Device> open(int) override { return cpu_.open(0); }
  std::uint64_t peak_memory(int) const override { return 0; }
  void reset_peak_memory() override {}
  std::unique_ptr<Network> build(Device&, const NetworkSpec&, const Numerics&) override { return nullptr; }
  std::unique_ptr<Optimizer> optimizer(Device&, const OptimizerConfig&, const std::vector<Part>&) override {
    return nullptr;
  }
  std::unique_ptr<Feed> upload(Device&, const SampleSpec&, const Split&, const Preparation&, bool) override { return nullptr; }
  std::unique_ptr<Collectives> connect(const std::vector<Device*>& devices) override {
    return std::make_unique<Spoilt>(cpu_.connect(devices), spoiler_, slow_copies_);
  }

 private:
  class Spoilt : public Collectives {
   public:
    Spoilt(std::unique_ptr<Collectives> sound, const Spoiler& spoiler, std::atomic<int>& slow_copies)
        : sound_(std::move(sound)), spoiler_(spoiler), slow_copies_(slow_copies) {}
    double all_reduce(int rank, void* data, std::size_t count, Type type) override {
      if (rank == spoiler_.thief) throw Error("the planted error");
      const double waited = sound_->all_reduce(rank, data, count, type);
      if (rank == spoiler_.wrong_adder) static_cast<float*>(data)[count / 2] += 1;
      return waited;
    }
    void put(int rank, int peer, float* to, ConstVec from) override {
      sound_->put(rank, peer, to, from);
      if (rank == 2 && peer == 1 && from.bytes() == kCopyBytes && slow_copies_-- > 0)
        std::this_thread::sleep_for(kSlowCopy);
      if (rank == spoiler_.from && peer == spoiler_.to) reinterpret_cast<char*>(to)[from.bytes() / 2] ^= 4;
    }
    double reduce(int rank, void* data, std::size_t count, Type type, int root) override { return sound_->reduce(rank, data, count, type, root); }
    double broadcast(int rank, void* data, std::size_t bytes, int root) override { return sound_->broadcast(rank, data, bytes, root); }
    double gather(int rank, const void* mine, void* all, const Counts& bytes, int root) override { return sound_->gather(rank, mine, all, bytes, root); }
    double scatter(int rank, const void* all, void* mine, const Counts& bytes, int root) override {
      return sound_->scatter(rank, all, mine, bytes, root);
    }
    double all_gather(int rank, const void* mine, void* all, const Counts& bytes) override { return sound_->all_gather(rank, mine, all, bytes); }
    double reduce_scatter(int rank, const void* all, void* mine, const Counts& counts, Type type) override {
      return sound_->reduce_scatter(rank, all, mine, counts, type);
    }
    double all_to_all(int rank, const void* out, const Counts& out_bytes, void* in, const Counts& in_bytes) override {
      return sound_->all_to_all(rank, out, out_bytes, in, in_bytes);
    }
    void get(int, int, const float*, Vec) override {}
    void add(int, int, float*, ConstVec) override {}
    void abort() override { sound_->abort(); }

   private:
    std::unique_ptr<Collectives> sound_;
    Spoiler spoiler_;
    std::atomic<int>& slow_copies_;
  };

  Platform& cpu_ = platform(DeviceKind::cpu);
  Spoiler spoiler_;
  std::atomic<int> slow_copies_;
};

LinkMeasurements examined(const SpoiltPlatform::Spoiler& spoiler, std::size_t devices = 3) {
  SpoiltPlatform platform(spoiler);
  return measure_links(platform, {devices, {2, devices}, true}, [](const std::string&) {});
}

TEST(Doctor, FindsNothingWhereNothingIsWrong) {
  const LinkMeasurements links = examined({});
  EXPECT_EQ(links.kind, "cpu");
  EXPECT_TRUE(links.problems.empty());
  EXPECT_EQ(links.devices.size(), 3u);
  ASSERT_EQ(links.pairs.size(), 6u);
  for (const PairLink& pair : links.pairs) {
    EXPECT_TRUE(pair.intact);
    EXPECT_EQ(pair.direct, pair.from + pair.to != 1);
    EXPECT_GT(pair.bytes_per_second, 0);
  }
  // From 4 KiB to 16 MiB by factors of four, with two and with three ranks.
  ASSERT_EQ(links.all_reduces.size(), 14u);
  EXPECT_EQ(links.all_reduces[6].bytes, 16u << 20);
  EXPECT_EQ(links.all_reduces[7].devices, 3u);
}

TEST(Doctor, TimesEveryCollectiveForPredictions) {
  const LinkMeasurements links = measure_links(platform(DeviceKind::cpu), {1, {1, 2}, true, timed_calls()}, [](const std::string&) {});
  EXPECT_TRUE(links.others.empty()) << "one device exchanges nothing";
  SpoiltPlatform platform({});
  const LinkMeasurements two = measure_links(platform, {2, {2}, true, timed_calls()}, [](const std::string&) {});
  std::set<std::string> calls;
  for (const CollectiveTime& time : two.others) {
    calls.insert(time.call);
    EXPECT_EQ(time.devices, 2u);
    EXPECT_GT(time.seconds, 0) << time.call;
  }
  EXPECT_EQ(calls, (std::set<std::string>{"reduce", "broadcast", "gather", "scatter", "all_gather", "reduce_scatter", "all_to_all"}));
  EXPECT_EQ(two.others.size(), 7u * two.all_reduces.size());
  EXPECT_TRUE(examined({}).others.empty()) << "they take time, and only predictions need them";
}

// What is written before a timed call.
TEST(CollectiveCall, SendsThePartOfARankWhereTheResultIsTheWholeVector) {
  std::vector<float> all(12), mine(12);
  const CallVectors of{0, 0, all.data(), mine.data(), all.size() * sizeof(float), 3};
  for (const std::string& call : timed_calls()) {
    const Vec sent = sent_by(call, of);
    const bool is_part = call == "gather" || call == "all_gather";
    EXPECT_EQ(sent.data(), is_part ? mine.data() : all.data()) << call;
    EXPECT_EQ(sent.size(), is_part ? 4u : 12u) << call;
  }
  EXPECT_THROW(sent_by("all_or_nothing", of), Error);
}

TEST(Doctor, ASingleDeviceHasItsHostLinkAlone) {
  const LinkMeasurements links = examined({}, 1);
  EXPECT_EQ(links.devices.size(), 1u);
  EXPECT_TRUE(links.devices[0].intact);
  EXPECT_TRUE(links.pairs.empty());
  EXPECT_TRUE(links.all_reduces.empty());
}

TEST(Doctor, NamesThePairThatDamagesData) {
  for (const PairLink& pair : examined({2, 0}).pairs) EXPECT_EQ(pair.intact, pair.from != 2 || pair.to != 0);
}

TEST(Doctor, FindsSumsThatAreWrongOnOneRank) {
  const LinkMeasurements links = examined({-1, -1, 2});
  EXPECT_EQ(links.wrong_sums, std::vector<std::size_t>{3}) << "the third rank is no part of the first two";
  EXPECT_EQ(links.problems.size(), 1u);
}

const PairLink& from_2_to_1(const LinkMeasurements& links) {
  return *std::find_if(links.pairs.begin(), links.pairs.end(),
                       [](const PairLink& pair) { return pair.from == 2 && pair.to == 1; });
}

TEST(Doctor, CallsALinkSlowThatStaysSlow) {
  const LinkMeasurements links = examined({-1, -1, -1, -1, 1000});
  EXPECT_LE(from_2_to_1(links).bytes_per_second, kSlowRate);
  const std::vector<std::string> slow = slow_links(links);
  EXPECT_TRUE(std::any_of(slow.begin(), slow.end(), [](const std::string& sentence) {
    return sentence.find("the link from cpu:2 to cpu:1") == 0;
  }));
}

TEST(Doctor, MeasuresASlowLinkTwiceMoreAndKeepsTheBest) {
  // The first measurement, with five copies of this size, is slow; or the first two are.
  for (const int slow_copies : {5, 10}) EXPECT_GT(from_2_to_1(examined({-1, -1, -1, -1, slow_copies})).bytes_per_second, kSlowRate);
  EXPECT_LE(from_2_to_1(examined({-1, -1, -1, -1, 15})).bytes_per_second, kSlowRate) << "there is no fourth";
}

TEST(Doctor, ARankThatFailsEndsItForAll) { EXPECT_THROW(examined({-1, -1, -1, 1}), Error); }

TEST(HostLinks, EveryPairIsMeasuredBothWays) {
  std::vector<HostPairLink> found;
  on_joined_hosts(3, [&](const HostSpan& hosts) {
    const std::vector<HostPairLink> links = measure_host_links(hosts);
    if (hosts.number == 0) found = links;
    else EXPECT_TRUE(links.empty());
  });
  ASSERT_EQ(found.size(), 6u);
  std::set<std::pair<std::size_t, std::size_t>> pairs;
  for (const HostPairLink& link : found) {
    pairs.insert({link.from, link.to});
    EXPECT_TRUE(link.intact);
    EXPECT_GT(link.bytes_per_second, 0);
    EXPECT_GT(link.seconds_small, 0);
  }
  EXPECT_EQ(pairs.size(), 6u);
}

}  // namespace
}  // namespace mgcompare
