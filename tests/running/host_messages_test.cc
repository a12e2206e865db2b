// What the program says of hosts and workers that do not fit together.

#include <gmock/gmock.h>
#include <unistd.h>

#include "mgcompare/error.h"
#include "services/host_trials.h"
#include "train/rank_report.h"

namespace mgcompare {
namespace {

using ::testing::HasSubstr;

// The first of two hosts. The other one sends `text` in place of its report.
class OtherHost : public Transport {
 public:
  explicit OtherHost(std::string text) : text_(std::move(text)) {}
  std::size_t host() const override { return 0; }
  std::size_t hosts() const override { return 2; }
  std::string version() const override { return ""; }
  void exchange(const std::vector<Outgoing>&, const std::vector<Incoming>& in) override {
    for (const Incoming& part : in) {
      if (std::exchange(has_size_, true)) text_.copy(static_cast<char*>(part.data), part.bytes);
      else *static_cast<std::uint64_t*>(part.data) = text_.size();
    }
  }
  void transfer(int, const std::vector<Outgoing>&, const std::vector<Incoming>&) override {}
  void send(std::size_t, std::string_view) override {}
  std::optional<HostMessage> receive() override { return std::nullopt; }
  void abort() override {}
  void finish() override {}

 private:
  std::string text_;
  bool has_size_ = false;
};

TEST(HostMessages, OtherCallsOfTheGroupAreNamed) {
  for (const char* text : {"\1", "[5]", "{}"}) {
    OtherHost other(text);
    try {
      gather_reports({&other, 2, 0}, std::vector<RankEpoch>(1));
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("other calls of its group on host number 2 than on the first host; make the same collective calls on every rank")) << text;
    }
  }
}

TEST(HostMessages, ThisMachineUnderAnotherNameIsRefused) {
  char own[256] = "";
  gethostname(own, sizeof(own) - 1);
  Trial trial;
  trial.global_batch = 64;
  trial.device_kind = DeviceKind::cpu;
  trial.devices = trial.hosts = 2;
  for (const char* name : {"localhost", "127.0.1.1"}) {
    HostTrials hosts({.names = {own, name}}, {});
    try {
      hosts.check({trial}, {}, {}, "");
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(std::string("host ") + name + " is this machine, " + own + ", under another name: name each machine once"));
    }
  }
}

}  // namespace
}  // namespace mgcompare
