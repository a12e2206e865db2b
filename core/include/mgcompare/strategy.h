#pragma once

// A strategy: how several ranks learn one network together. Derive, override `step`, and close the file with
//   MGCOMPARE_STRATEGY(MyStrategy, "my_strategy", "one line that says what it does")
// One object a rank; every method is called on that rank's own thread. The class has a constructor from
// (Options&, const Facts&), which reads the options and needs no device: it is also called just to ask for traits.

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

// What is known of a trial before it starts.
struct Facts {
  int ranks = 1;
  int hosts = 1;
  std::size_t global_batch = 0;       // samples a step, all ranks together
  std::size_t steps_per_epoch = 0;
  std::size_t epochs = 0;
  std::string optimizer;              // "sgd", "adam", "adagrad", "adadelta"
  double momentum = 0;                // of sgd
  DeviceKind device = DeviceKind::cpu;
  // Free pace: ranks meet in a given order (virtual time, or a replay), which must decide the result to the bit. A
  // strategy that lets ranks touch the same memory outside of exclusive sections refuses the option that does so.
  bool ordered = false;
};

struct Traits {
  enum class Promise { exact, approximate } promise = Promise::approximate;  // exact: one device on the global batch
  // exact, and gradients are added in rank order: on CPUs bit-equal to one rank that accumulates the same shares.
  bool in_rank_order = false;
  // lockstep: every rank steps as often as the others, on its share of one global batch. free: each rank draws
  // global_batch / ranks samples from what is left of the epoch whenever it is ready.
  enum class Pace { lockstep, free } pace = Pace::lockstep;
  enum class Models { one, many } models = Models::one;  // many: each rank ends with a network of its own
  // What the row is in the comparison: a contender, the one-device baseline, or the ceiling that exchanges nothing.
  enum class Role { contender, baseline, ceiling } role = Role::contender;
  std::vector<DeviceKind> devices = {DeviceKind::cpu, DeviceKind::cuda};
  int least_ranks = 1;
  int most_ranks = 1 << 20;
  int repeats_every = 0;  // steps t and t+p issue the same device work; 0 where the host decides in a step
  std::vector<std::size_t> stages;  // steps, counted over all epochs, from which on that work is another
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual Traits traits() const = 0;
  // Once, before the first step: all replicas hold the same weights. Allocate here; every rank must return before any
  // rank steps. A barrier() goes before what ranks exchange here: an allocation beside an exchange can hang GPUs.
  virtual void start(Replica&, Group&) {}
  // Learns from this rank's share of the batch. In lockstep pace all ranks are called, also with empty shares.
  virtual void step(Replica& replica, Group& group, const Batch& batch) = 0;
  // Free pace: this rank found the epoch used up while others may still step. Push what is held back; stop counting this
  // rank among those that others wait for.
  virtual void rest(Replica&, Group&) {}
  // The end of an epoch, on every rank: returns the vector to evaluate, as long as the weights, in device memory; the
  // same on every rank unless the traits say many models. Training goes on as if it had not been called.
  virtual Vec settle(Replica& replica, Group&) { return replica.weights(); }
  // State beyond weights, buffers and the replica's optimiser, at the end of an epoch; restore() follows start().
  virtual void save(Archive&) {}
  virtual void restore(Archive&) {}
};

// The one symbol of a plugin. The program compares `contract` in the file's bytes before it opens the file.
struct Plugin {
  const char* contract;  // "mgcompare-plugin;CONTRACT;name;description"
  const char* name;
  const char* description;
  Strategy* (*make)(Options&, const Facts&);  // owned by the caller
};

}  // namespace mgcompare

#define MGCOMPARE_STRATEGY(TYPE, NAME, DESCRIPTION)                                                                  \
  static ::mgcompare::Strategy* mgcompare_make(::mgcompare::Options& options, const ::mgcompare::Facts& facts) {      \
    return new TYPE(options, facts);                                                                                  \
  }                                                                                                                   \
  extern "C" __attribute__((visibility("default"))) const ::mgcompare::Plugin mgcompare_plugin;                       \
  const ::mgcompare::Plugin mgcompare_plugin = {"mgcompare-plugin;" MGCOMPARE_CONTRACT ";" NAME ";" DESCRIPTION,      \
                                                NAME, DESCRIPTION, mgcompare_make};
