#pragma once

// A strategy: how several ranks train one network. Derive from Strategy, override traits() and step(), and end the file
// with
//   MGCOMPARE_STRATEGY(MyStrategy, "my_strategy", "one line that says what it does")
// The class needs a constructor from (Options&, const Facts&).
//
// Life of an object
// - For its traits only. The program makes objects, asks traits() and destroys them: for `mgcompare plugins`, for each row
//   of a plan, once when a trial starts. No device exists. The constructor reads all options and allocates nothing large.
//   Objects that train are asked again; a trial whose answers differ fails.
// - Warm-up. Each rank makes an object and calls start(), step() with batches in any order (full ones, and the last one of an
//   epoch, which may be short; Batch::step() jumps accordingly), and at free pace rest(). Weights are fresh. Then object,
//   weights, group and shared objects are destroyed. settle(), save() and restore() are not called.
//   `measure: {warm_up_steps: 0}` leaves it out, so training must not depend on it.
// - Training. Each rank makes a fresh object on fresh weights: start(); restore() where an interrupted trial is resumed;
//   then for each epoch the steps, at free pace rest(), then settle(), and save() where a checkpoint is due. After a last
//   settle() the objects are destroyed, each on its rank's thread; device memory can still be released then.
//
// Threads and order: one object a rank. Constructor, methods and destructor are called on that rank's thread, and devices
// must be used from there only. start, step (in lockstep), settle, save and restore are called on all ranks and may use
// collectives, if all ranks do. A method may return before the work that it queued has run.
// Errors: an exception that leaves a method ends the trial for all ranks. In the constructor call Options::refuse() for a
// wrong option; another exception counts as a problem of the whole strategy.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "mgcompare/archive.h"
#include "mgcompare/batch.h"
#include "mgcompare/contract.h"
#include "mgcompare/group.h"
#include "mgcompare/options.h"
#include "mgcompare/replica.h"

namespace mgcompare {

// What the constructor knows of the trial. For traits of a planned row these are that row's values, also of rows that may
// be dropped because of the traits, and of one rank alone. Without an experiment (`mgcompare plugins`, `plugins check`)
// they are an example: 2 ranks, 1 host, batch 128, 469 steps, 12 epochs, sgd with momentum 0.9, CPU. Equal options and
// facts must give equal traits.
struct Facts {
  int ranks = 1;
  int hosts = 1;
  std::size_t global_batch = 0;       // samples of a step, all ranks together
  std::size_t steps_per_epoch = 0;    // the last one may be short; 0 where the data are not known yet
  std::size_t epochs = 0;
  std::string optimizer;              // "sgd", "adam", "adagrad", "adadelta"
  double momentum = 0;                // of sgd
  DeviceKind device = DeviceKind::cpu;
  // Free pace in virtual time or in a replay: the order of exclusive sections is given and must determine the result to
  // the bit. Refuse options that let ranks use the same memory outside of exclusive sections.
  bool ordered = false;
};

struct Traits {
  // exact: equals one device on the global batch, up to rounding.
  enum class Promise { exact, approximate } promise = Promise::approximate;
  // For exact ones: gradients are added in rank order. On CPUs this equals, to the bit, one rank that accumulates the
  // same shares. On several hosts only with numerics.deterministic: otherwise each host adds its own ranks first.
  bool in_rank_order = false;
  // lockstep: all ranks make the same steps, each on its share of one global batch. free: a rank draws global_batch / ranks
  // samples of the epoch's rest whenever it is ready.
  enum class Pace { lockstep, free } pace = Pace::lockstep;
  enum class Models { one, many } models = Models::one;  // many: each rank ends with a network of its own
  // contender; the one-device baseline, which must come with the program; or the ceiling, which exchanges nothing.
  enum class Role { contender, baseline, ceiling } role = Role::contender;
  std::vector<DeviceKind> devices = {DeviceKind::cpu, DeviceKind::cuda};
  int least_ranks = 1;
  int most_ranks = 1 << 20;
  // The ranks use one object of shared() for all of them, so they must be on one host.
  bool one_host = false;
  // p > 0: steps t and t + p queue the same device work. On GPUs in lockstep, p or more steps are then captured as a CUDA
  // graph and replayed: step() is called while they are captured, and its host code does not run again. Not captured are
  // the first p steps of a stage, and the last ones of an epoch: in the first epoch, and where epochs are not whole periods.
  // In a step that may be captured
  // - do not wait for the device, for other ranks on the host, or decide by what the device computed;
  // - host state that step() changes must be the same after p steps (a counter of steps in the period is);
  // - metric() and its like are not repeated: add up on the device and report in settle(), as drift.h does.
  // Values that host code computes are frozen in the graph, Batch's too, such as its epoch; sizes of shares stay right,
  // because all batches of a graph are as large as when it was captured. The replica's passes and all optimisers on the
  // device do follow: they read position, epoch and learning rate of the current step from device memory. A factor on
  // the rate goes into `rate_scale`, which is constant.
  // 0: the host decides in each step; only forward and backward passes are captured.
  int repeats_every = 0;
  // Steps, counted over all epochs, from which on the device work is another: each stage is captured separately.
  std::vector<std::size_t> stages;
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual Traits traits() const = 0;
  // Once, before the first step; all replicas have the same weights. Allocate here. No rank steps before all have
  // returned. Call group.barrier() between allocations and the first exchange: an allocation beside one can hang GPUs.
  // It must not run passes or updates, which would be in no figure.
  virtual void start(Replica&, Group&) {}
  // Learns from this rank's share of the batch. In lockstep a share can be empty.
  virtual void step(Replica& replica, Group& group, const Batch& batch) = 0;
  // Free pace: the epoch has no samples left for this rank; others may still step. Push what is held back, and release
  // ranks that wait for this one. No collectives.
  virtual void rest(Replica&, Group&) {}
  // At the end of an epoch, and in lockstep between two steps of one: returns the weights to evaluate, as many as
  // replica.weights() has, in device memory, the same on all ranks unless models are many, valid until the next step. It may
  // queue device work, synchronize, use all of Group but wait_until(), and call metric(). It must not run passes or updates or
  // write to replica.weights(), and training must go on as if it had not been called: weights, buffers, optimisers and own
  // state stay as they are. Its time and bytes are not counted.
  virtual Vec settle(Replica& replica, Group&) { return replica.weights(); }
  // Saves the object's state, after settle(). The program saves weights, buffers and all optimisers itself. A checkpoint of more
  // than 64 copies of the model for each rank is not written. restore() is called after start(), and must leave
  // weights and buffers as they are and run no passes or updates.
  virtual void save(Archive&) {}
  virtual void restore(Archive&) {}
};

// The one symbol that a plugin exports. The program compares `contract` in the file's bytes before it opens the file.
struct Plugin {
  const char* contract;  // "mgcompare-plugin;CONTRACT;name;description"
  const char* name;
  const char* description;
  Strategy* (*make)(Options&, const Facts&);  // the caller owns the object
};

// Part of the contract. Raise it when the meaning of a call between program and plugin changes, but no declaration does.
inline constexpr int kSdkRevision = 1;

}  // namespace mgcompare

#define MGCOMPARE_STRATEGY(TYPE, NAME, DESCRIPTION)                                                                  \
  static ::mgcompare::Strategy* mgcompare_make(::mgcompare::Options& options, const ::mgcompare::Facts& facts) {      \
    return new TYPE(options, facts);                                                                                  \
  }                                                                                                                   \
  extern "C" __attribute__((visibility("default"))) const ::mgcompare::Plugin mgcompare_plugin;                       \
  const ::mgcompare::Plugin mgcompare_plugin = {"mgcompare-plugin;" MGCOMPARE_CONTRACT ";" NAME ";" DESCRIPTION,      \
                                                NAME, DESCRIPTION, mgcompare_make};
