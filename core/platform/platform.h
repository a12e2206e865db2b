#pragma once

// What a kind of device offers to the worker. core/cpu and core/cuda each build one module (a shared library) with an
// instance of this; the worker opens it. Everything above this line is device-neutral.

#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/device_lost.h"
#include "config/config.h"
#include "data/dataset.h"
#include "mgcompare/device.h"
#include "mgcompare/group.h"
#include "mgcompare/replica.h"
#include "model/network.h"
#include "model/spec.h"
#include "platform/device_timeline.h"

namespace mgcompare {

struct DeviceInfo {
  int index = 0;
  std::string name;
  std::uint64_t memory = 0;         // bytes
  std::vector<std::string> notes;
  std::string id;                   // the same however the devices are numbered: a PCI address
  std::vector<std::string> problems;  // what makes its figures doubtful: "is slowed down by its temperature"
  std::vector<std::string> precisions = {};  // those of numerics.precision that it computes in; empty: not known
};

// Elements of the ranks before this one.
inline std::size_t before(const Counts& counts, std::size_t rank) {
  return std::accumulate(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(rank), std::size_t{0});
}

// The data movement beneath Group, for all ranks of a trial; one object shared by them. Each call is made by every rank
// on its own thread (point-to-point ones by one rank). It may assume valid arguments. Counts are bytes except where a
// type is given. It reports the seconds that the calling rank only waited for others.
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
  // Wakes every rank that waits, now and later, with Aborted.
  virtual void abort() = 0;
  // Whether they may be called while a GraphRecorder records.
  virtual bool recordable() const { return false; }
};

// Records the device work of steps, or of passes, of one rank and repeats it without the host, each time with the
// position, rate and epoch that are then due. Used by the rank's thread. It must go before the group's collectives.
class GraphRecorder {
 public:
  virtual ~GraphRecorder() = default;
  // Of every step of the epoch: the first position of its global batch and its learning rate.
  virtual void begin_epoch(std::size_t epoch, const std::vector<std::uint32_t>& begins,
                           const std::vector<float>& rates) = 0;
  // What is queued on the device between begin() and end() is recorded and not run; every step of it is between
  // begin_step(number in the epoch) and end_step().
  virtual void begin() = 0;
  virtual void begin_step(std::size_t step) = 0;
  virtual void end_step() = 0;
  // In place of steps: a pass over samples from this position of the epoch's order on.
  virtual void begin_pass(std::size_t position) = 0;
  // Returns the recording's number. It may allocate: no rank may be in an exchange that waits for this one.
  virtual std::size_t end() = 0;
  // The next repeat() begins at this step of the epoch.
  virtual void seek(std::size_t step) = 0;
  // The next repeat() of a pass reads from this position, in this epoch.
  virtual void place(std::size_t position, std::size_t epoch) = 0;
  // Queues the recorded work once.
  virtual void repeat(std::size_t recording) = 0;
  // The mean loss of the repeated steps, as far as the device has come; does not wait.
  virtual double loss() const = 0;
  // Waits for the device. Of each step repeated since the last seek(): its seconds, and the sum of losses after it.
  struct StepRecord {
    double seconds = 0;
    double loss = 0;
  };
  virtual std::vector<StepRecord> take_records() = 0;
};

class Platform {
 public:
  virtual ~Platform() = default;
  virtual DeviceKind kind() const = 0;
  // Throws Error with the sentence that says why there can be none.
  virtual std::vector<DeviceInfo> devices() const = 0;
  // Library versions and the like, for the environment of a report.
  virtual std::vector<std::pair<std::string, std::string>> facts() const = 0;
  // Whether work of one device can use the memory of the other directly.
  virtual bool reaches(int /*from*/, int /*to*/) const { return true; }

  // The calls below are made on the rank's own thread, which stays with that device.
  virtual std::unique_ptr<Device> open(int device_index) = 0;
  virtual std::uint64_t peak_memory(int device_index) const = 0;  // since the last reset
  virtual void reset_peak_memory() = 0;
  virtual std::unique_ptr<Network> build(Device& device, const NetworkSpec& spec, const Numerics& numerics) = 0;
  virtual std::unique_ptr<Optimizer> optimizer(Device& device, const OptimizerConfig& config,
                                               const std::vector<Part>& parts) = 0;
  // The split in the form in which networks of this device read it; kept by the caller for many trials.
  virtual std::unique_ptr<Feed> upload(Device& device, const Split& split, double scale, bool keep_on_host) = 0;
  // For epochs of up to `steps` steps; none where steps cannot be recorded. After build().
  virtual std::unique_ptr<GraphRecorder> recorder(Device& /*device*/, std::size_t /*steps*/) { return nullptr; }
  // Marks what is queued on the device while it lives; none where calls return when their work is done, so that the host's
  // clock sees everything.
  virtual std::unique_ptr<DeviceTimeline> timeline(Device& /*device*/) { return nullptr; }
  // Called once a trial, by one thread, with every rank's device.
  virtual std::unique_ptr<Collectives> connect(const std::vector<Device*>& device_of_rank) = 0;
};

}  // namespace mgcompare

// What a module exports; opened by the worker only.
extern "C" mgcompare::Platform* mgcompare_platform();
