// Devices that fail at their n-th call, in every place of a trial: the error has its kind, no rank hangs, and the next trial
// on the same platform is as if nothing had happened.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "base/device_lost.h"
#include "fakes/clocked_platform.h"
#include "fixture.h"

namespace mgcompare {
namespace {

using testing::run;
using testing::small_trial;

constexpr const char* kPlugins[] = {"replicated", "tower", "async_sgd", "local_sgd", "data_parallel"};

// Counts calls of one kind on all devices of a platform, and fails from the n-th on: once, or at every later call too.
struct Fault {
  std::function<void()> fail;
  int at = 0;                     // 0: never
  bool sticky = false;
  std::atomic<int> calls = 0;
  void count() {
    const int call = ++calls;
    if (at > 0 && (call == at || (sticky && call > at))) fail();
  }
  bool happened() const { return at > 0 && calls >= at; }
};

class FaultyDevice : public ClockedDevice {
 public:
  FaultyDevice(std::unique_ptr<Device> device, Fault& allocations, Fault& work)
      : ClockedDevice(std::move(device)), allocations_(allocations), work_(work) {}
  void* allocate(std::size_t bytes) override {
    allocations_.count();
    return ClockedDevice::allocate(bytes);
  }
  void* allocate_host(std::size_t bytes) override {
    allocations_.count();
    return ClockedDevice::allocate_host(bytes);
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    work_.count();
    ClockedDevice::copy(to, from, bytes);
  }
  void copy_to_host(void* host, const void* device, std::size_t bytes) override {
    work_.count();
    ClockedDevice::copy_to_host(host, device, bytes);
  }
  void copy_to_device(void* device, const void* host, std::size_t bytes) override {
    work_.count();
    ClockedDevice::copy_to_device(device, host, bytes);
  }
  void zero(void* memory, std::size_t bytes) override {
    work_.count();
    ClockedDevice::zero(memory, bytes);
  }
  void synchronize() override {
    work_.count();
    ClockedDevice::synchronize();
  }

 private:
  Fault& allocations_;
  Fault& work_;
};

class FaultyPlatform : public ClockedPlatform {
 public:
  Fault allocations, work;
  std::unique_ptr<Device> open(int index) override {
    return std::make_unique<FaultyDevice>(platform(DeviceKind::cpu).open(index), allocations, work);
  }
};

std::string train_on(FaultyPlatform& platform, const std::string& plugin) {
  static const Dataset few = testing::first_digits(110);
  Trial trial = small_trial(3, plugin);
  trial.device_kind = DeviceKind::cuda;
  trial.config.epochs = 1;
  return run(trial, {}, [&](TrainingRequest& request) {
           request.platform = &platform;
           request.dataset = &few;
         }).result.weights_hash;
}

// Returns how many of the trials had the fault.
template <class Error> int fail_at_each_call(Fault FaultyPlatform::*place, bool sticky, const std::function<void()>& fail) {
  int happened = 0;
  for (const char* plugin : kPlugins) {
    FaultyPlatform sound;
    const std::string expected = train_on(sound, plugin);
    const int calls = (sound.*place).calls;
    EXPECT_GT(calls, 10) << plugin;
    // 20 calls, evenly over the trial. The last one is after its end.
    for (int k = 1; k <= 20; ++k) {
      FaultyPlatform platform;
      Fault& fault = platform.*place;
      fault.fail = fail, fault.sticky = sticky, fault.at = k == 20 ? calls + 100 : 1 + calls * (k - 1) / 20;
      SCOPED_TRACE(std::string(plugin) + ", call " + std::to_string(fault.at) + " of " + std::to_string(calls));
      if (k < 20) EXPECT_THROW(train_on(platform, plugin), Error);
      else EXPECT_EQ(train_on(platform, plugin), expected);
      happened += fault.happened() ? 1 : 0;
      fault.at = 0;
      if (k % 5 == 0) {
        EXPECT_EQ(train_on(platform, plugin), expected) << "the trial after it";
      }
    }
  }
  return happened;
}

TEST(DeviceFaults, AnAllocationThatFailsIsOutOfMemory) {
  const int happened = fail_at_each_call<OutOfMemory>(&FaultyPlatform::allocations, false, [] { throw OutOfMemory(1000, 10, 100); });
  EXPECT_EQ(happened, 95);
}

TEST(DeviceFaults, ACallOfALostDeviceIsALostDevice) {
  const int happened = fail_at_each_call<DeviceLost>(&FaultyPlatform::work, true, [] { throw DeviceLost("the GPU has fallen off the bus"); });
  EXPECT_EQ(happened, 95);
}

}  // namespace
}  // namespace mgcompare
