// Four fake GPUs that compute on the CPU, for tests with faulty devices or links. MGCOMPARE_TEST_FAULT selects the
// fault: a word and device numbers.
// pair A B     data that A sends to B arrive damaged
// lost A       A stops in the middle of a trial and never answers again (while the file MGCOMPARE_TEST_MARK exists)
// gone A       like lost, but A is no longer listed and the others are renumbered
// mute A       A stops in the middle of a trial; later it can be opened, but copies from it to the host write nothing
// hangs A      A never returns from a call in the middle of a trial, nor later from opening it
// memory A     A runs out of memory after a while
// hot A        A reports that it is slowed down by heat
// files N      the first N attempts to list the devices fail, because too many files are open
// descriptors N  the first N attempts to open device 0 fail, because too many files are open
// driver       there are no devices, because the driver is too old

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

#include "cpu/collectives.h"
#include "cpu/device.h"
#include "cpu/feed.h"
#include "cpu/network.h"
#include "host_marker.h"
#include "model/optimizer.h"
#include "platform/platform.h"

namespace {

using namespace mgcompare;

constexpr int kDevices = 4;
constexpr int kWaitsOfALostDevice = 3;    // in a trial
constexpr std::size_t kMemory = 1 << 20;  // bytes per allocation while memory is short

struct Fault {
  std::string word;
  int first = -1, second = -1;
  Fault() {
    const char* text = std::getenv("MGCOMPARE_TEST_FAULT");
    std::istringstream(text == nullptr ? "" : text) >> word >> first >> second;
  }
  bool is(const char* what, int device) const { return word == what && first == device; }
};

const Fault& fault() {
  static const Fault fault;
  return fault;
}

std::string mark() {
  const char* file = std::getenv("MGCOMPARE_TEST_MARK");
  return file == nullptr ? "" : file;
}
// Whether this attempt is one of those that fail. The file counts them, over all processes.
bool lacks_descriptors() {
  struct stat facts {};
  if (stat(mark().c_str(), &facts) == 0 && facts.st_size >= fault().first) return false;
  std::ofstream(mark(), std::ios::app) << "x";
  return true;
}
bool falls(int device) {
  for (const char* word : {"lost", "gone", "hangs", "mute"})
    if (fault().is(word, device)) return true;
  return false;
}
bool has_fallen(int device) {
  struct stat facts {};
  return falls(device) && stat(mark().c_str(), &facts) == 0;
}
[[noreturn]] void hang() {
  for (;;) pause();
}
// The GPU that currently has this number.
int slot_of(int index) {
  const bool is_after = fault().word == "gone" && has_fallen(fault().first) && index >= fault().first;
  return is_after ? index + 1 : index;
}

class FakeGpu : public CpuDevice {
 public:
  FakeGpu(int index, MemoryMeter& meter, const std::atomic<int>& networks)
      : CpuDevice(index, meter), slot_(slot_of(index)), networks_(networks) {}
  DeviceKind kind() const override { return DeviceKind::cuda; }
  void* allocate(std::size_t bytes) override {
    if (networks_ > 0 && fault().is("memory", index()) && bytes > kMemory)
      throw OutOfMemory(bytes, kMemory, 2 * kMemory);
    return CpuDevice::allocate(bytes);
  }
  void synchronize() override {
    if (!falls(slot_) || networks_ == 0 || ++waits_ < kWaitsOfALostDevice) return;
    std::ofstream(mark()) << "fallen";
    if (fault().word == "hangs") hang();
    throw DeviceLost("the GPU has fallen off the bus");
  }
  void copy_to_host(void* to, const void* from, std::size_t bytes) override {
    if (!fault().is("mute", slot_) || !has_fallen(slot_)) CpuDevice::copy_to_host(to, from, bytes);
  }

 private:
  const int slot_;
  const std::atomic<int>& networks_;  // of this process: 0 before its first trial
  int waits_ = 0;
};

class FakeCollectives : public CpuCollectives {
 public:
  explicit FakeCollectives(const std::vector<Device*>& device_of_rank) : CpuCollectives(device_of_rank.size()) {
    for (const Device* device : device_of_rank) indices_.push_back(static_cast<const CpuDevice*>(device)->index());
  }
  void put(int rank, int peer, float* to, ConstVec from) override {
    CpuCollectives::put(rank, peer, to, from);
    const auto index = [&](int of) { return indices_[static_cast<std::size_t>(of)]; };
    if (fault().is("pair", index(rank)) && fault().second == index(peer)) reinterpret_cast<unsigned char*>(to)[from.bytes() - 1] ^= 1;
  }

 private:
  std::vector<int> indices_;
};

class FakeGpus : public Platform {
 public:
  FakeGpus() : meters_(kDevices) {}
  DeviceKind kind() const override { return DeviceKind::cuda; }
  std::vector<DeviceInfo> devices() const override {
    if (fault().word == "driver")
      throw Error("the NVIDIA driver supports CUDA 12.4, this program needs CUDA 13.0: install a newer driver");
    if (fault().word == "files" && lacks_descriptors()) throw Error("cannot list the GPUs: Too many open files");
    std::vector<DeviceInfo> found;
    for (int device = 0; device < kDevices; ++device) {
      if (fault().word == "gone" && has_fallen(device)) continue;
      DeviceInfo info{
          static_cast<int>(found.size()), "no GPU, a test", 1ull << 30, {}, "slot " + std::to_string(device), {}};
      if (fault().is("hot", device)) info.problems.push_back("is slowed down by its temperature");
      if (fault().word == "old") info.notes.push_back("compute capability 5.0");
      found.push_back(info);
    }
    return found;
  }
  std::vector<std::pair<std::string, std::string>> facts() const override { return {{"CUDA", "none, a test"}}; }
  std::unique_ptr<Device> open(int index) override {
    if (fault().word == "descriptors" && index == 0 && lacks_descriptors())
      throw Error("cannot open /dev/gpu0: Too many open files");
    if (fault().word != "mute" && has_fallen(slot_of(index))) {
      if (fault().word == "hangs") hang();
      throw DeviceLost("the GPU has fallen off the bus");
    }
    return std::make_unique<FakeGpu>(index, meters_.at(static_cast<std::size_t>(index)), networks_);
  }
  std::uint64_t peak_memory(int index) const override { return meters_.at(static_cast<std::size_t>(index)).peak(); }
  void reset_peak_memory() override {
    for (MemoryMeter& meter : meters_) meter.reset();
  }
  std::unique_ptr<Network> build(Device& device, const NetworkSpec& spec, const Numerics& numerics) override {
    ++networks_;
    Numerics possible = numerics;
    possible.precision = Precision::fp32;  // it computes on a CPU
    return make_network(device, spec, possible);
  }
  std::unique_ptr<Optimizer> optimizer(Device& device, const OptimizerConfig& config,
                                       const std::vector<Part>& parts) override {
    return make_host_optimizer(config, parts, &device);
  }
  std::unique_ptr<Feed> upload(Device& device, const SampleSpec& spec, const Split& split, const Preparation& preparation,
                               bool) override {
    return make_feed(device, spec, split, preparation);
  }
  std::unique_ptr<DeviceTimeline> timeline(Device&) override { return std::make_unique<HostTimeline>(); }
  std::unique_ptr<Collectives> connect(const std::vector<Device*>& device_of_rank) override {
    return std::make_unique<FakeCollectives>(device_of_rank);
  }

 private:
  std::vector<MemoryMeter> meters_;
  std::atomic<int> networks_ = 0;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) mgcompare::Platform* mgcompare_platform() {
  static FakeGpus gpus;
  return &gpus;
}
