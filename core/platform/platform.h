#pragma once

// The interface of a back end, that is, of one kind of devices. core/cpu and core/cuda each build a module (a shared library)
// with one Platform; the worker opens it. The rest of the program is independent of devices.

#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/device_lost.h"
#include "config/config.h"
#include "data/dataset.h"
#include "model/preparation.h"
#include "mgcompare/device.h"
#include "mgcompare/group.h"
#include "mgcompare/replica.h"
#include "model/network.h"
#include "model/spec.h"
#include "platform/device_timeline.h"
#include "platform/transport.h"

namespace mgcompare {

struct DeviceInfo {
  int index = 0;
  std::string name;
  std::uint64_t memory = 0;         // bytes
  std::vector<std::string> notes;
  std::string id;                   // a PCI address: independent of how devices are numbered
  std::vector<std::string> problems;  // that make measurements doubtful: "is slowed down by its temperature"
  std::vector<std::string> precisions = {};  // supported values of numerics.precision; empty: unknown
};

// Sum of the counts of all ranks below `rank`: the offset of its part.
inline std::size_t before(const Counts& counts, std::size_t rank) {
  return std::accumulate(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(rank), std::size_t{0});
}

// The data movement beneath Group. One object is shared by all ranks of a trial; each rank calls it on its own thread. All
// calls are collective, except get(), put() and add(), which one rank makes. Arguments are valid: RankGroup checks them.
// Sizes are bytes, or elements where a type is given. Calls return the seconds that the rank only waited for others.
class Collectives {
 public:
  virtual ~Collectives() = default;
  virtual double all_reduce(int rank, void* data, std::size_t count, Type type) = 0;
  virtual double reduce(int rank, void* data, std::size_t count, Type type, int root) = 0;
  virtual double broadcast(int rank, void* data, std::size_t bytes, int root) = 0;
  virtual double gather(int rank, const void* mine, void* all, const Counts& bytes, int root) = 0;
  virtual double scatter(int rank, const void* all, void* mine, const Counts& bytes, int root) = 0;
  virtual double all_gather(int rank, const void* mine, void* all, const Counts& bytes) = 0;
  virtual double reduce_scatter(int rank, const void* all, void* mine, const Counts& counts, Type type) = 0;
  virtual double all_to_all(int rank, const void* out, const Counts& out_bytes, void* in, const Counts& in_bytes) = 0;
  virtual void get(int rank, int peer, const float* from, Vec into) = 0;
  virtual void put(int rank, int peer, float* to, ConstVec from) = 0;
  virtual void add(int rank, int peer, float* to, ConstVec from) = 0;
  // What a rank sent in its last call. Only where ranks are on several hosts.
  struct Traffic {
    double within_host = 0, between_hosts = 0;  // bytes
  };
  virtual Traffic traffic(int /*rank*/) const { return {}; }
  // For ranks of other hosts: copy or add between memory of `rank`, which is on this host, and memory of the host. They return when it is
  // done. Any thread. Only where ranks are on several hosts.
  virtual void load(int /*rank*/, const float* /*from*/, Vec /*into*/) {}
  virtual void store(int /*rank*/, float* /*to*/, ConstVec /*from*/) {}
  virtual void accumulate(int /*rank*/, float* /*to*/, ConstVec /*from*/) {}
  // Releases all ranks that wait, now and later, with Aborted. Any thread.
  virtual void abort() = 0;
  // Whether calls may be captured by a GraphRecorder.
  virtual bool recordable() const { return false; }
};

// Captures the device work of steps, or of forward and backward passes, of one rank as graphs. Replays need no host code; each
// reads the position, learning rate and epoch that apply to it from device memory. Used by the rank's thread only. Must be
// destroyed before the group's collectives.
class GraphRecorder {
 public:
  virtual ~GraphRecorder() = default;
  // `begins`: for each step of the epoch, the first position of its global batch. `rates`: its learning rate.
  virtual void begin_epoch(std::size_t epoch, const std::vector<std::uint32_t>& begins,
                           const std::vector<float>& rates) = 0;
  // Work queued between begin() and end() is captured, not run. Each captured step lies between begin_step() and end_step();
  // `step` is its number in the epoch.
  virtual void begin() = 0;
  virtual void begin_step(std::size_t step) = 0;
  virtual void end_step() = 0;
  // Captures a pass instead of steps. `position`: of its first sample in the order of the epoch.
  virtual void begin_pass(std::size_t position) = 0;
  // Returns the number of the graph. May allocate, so no rank may be in an exchange that waits for this one.
  virtual std::size_t end() = 0;
  // The next replay starts at this step of the epoch.
  virtual void seek(std::size_t step) = 0;
  // The next replay of a pass reads samples from this position, in this epoch.
  virtual void place(std::size_t position, std::size_t epoch) = 0;
  // Queues one replay of the graph.
  virtual void repeat(std::size_t recording) = 0;
  // Mean loss of the replayed steps that the device has completed. Does not wait.
  virtual double loss() const = 0;
  // Waits for the device. For each step replayed since the last seek(): its seconds, and the sum of losses after it.
  struct StepRecord {
    double seconds = 0;
    double loss = 0;
  };
  virtual std::vector<StepRecord> take_records() = 0;
};

// A vector on a device that is exchanged like the gradient of a network. It is made before the collectives and freed after them.
class ExchangedVector {
 public:
  virtual ~ExchangedVector() = default;
  virtual Vec values() const = 0;
};

class Platform {
 public:
  virtual ~Platform() = default;
  virtual DeviceKind kind() const = 0;
  // Throws Error with the reason if there can be none.
  virtual std::vector<DeviceInfo> devices() const = 0;
  // Versions of libraries and drivers, for the environment section of a report.
  virtual std::vector<std::pair<std::string, std::string>> facts() const = 0;
  // Whether device `from` can access the memory of device `to` directly.
  virtual bool reaches(int /*from*/, int /*to*/) const { return true; }

  // The calls below are made on the thread of a rank, which uses one device only.
  virtual std::unique_ptr<Device> open(int device_index) = 0;
  virtual std::uint64_t peak_memory(int device_index) const = 0;  // since the last reset
  virtual void reset_peak_memory() = 0;
  virtual std::unique_ptr<Network> build(Device& device, const NetworkSpec& spec, const Numerics& numerics) = 0;
  virtual std::unique_ptr<Optimizer> optimizer(Device& device, const OptimizerConfig& config,
                                               const std::vector<Part>& parts) = 0;
  // Makes a split of samples of the form `spec` readable for networks of this device. It need not outlive the call.
  virtual std::unique_ptr<Feed> upload(Device& device, const SampleSpec& spec, const Split& split, const Preparation& preparation,
                                       bool keep_on_host) = 0;
  // For epochs of up to `steps` steps; null if work cannot be captured. Call after build().
  virtual std::unique_ptr<GraphRecorder> recorder(Device& /*device*/, std::size_t /*steps*/) { return nullptr; }
  // Zeros. Null if any memory of the device serves.
  virtual std::unique_ptr<ExchangedVector> exchanged_vector(Device& /*device*/, std::size_t /*floats*/) { return nullptr; }
  // Null if calls return when their work is done: the host's clock sees everything then.
  virtual std::unique_ptr<DeviceTimeline> timeline(Device& /*device*/) { return nullptr; }
  // Called once per trial, by one thread, with the device of each rank.
  virtual std::unique_ptr<Collectives> connect(const std::vector<Device*>& device_of_rank) = 0;
  // The same for ranks on several hosts, with the devices of this one; every host calls it. `in_rank_order`: reductions add all ranks in
  // their order. Throws Error.
  virtual std::unique_ptr<Collectives> connect_hosts(const std::vector<Device*>& /*device_of_rank*/, const HostSpan& /*hosts*/,
                                                     bool /*in_rank_order*/) {
    throw Error("these devices cannot train on several hosts");
  }
};

}  // namespace mgcompare

// The symbol that a module exports. Called in a worker only.
extern "C" mgcompare::Platform* mgcompare_platform();

// In a module's source: the library of the system without which it has no devices, and the sentence for machines that lack it. The program
// then does not load the module, whose own libraries may take long.
#define MGCOMPARE_DEVICES_NEED(library, sentence) \
  __attribute__((section(".mgcompare.needs"), used)) static const char mgcompare_needs[] = library "\0" sentence
