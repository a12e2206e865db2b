#pragma once

// What a verification covers, and how long its trainings are.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "config/config.h"
#include "discovery/capabilities.h"

namespace mgcompare {

// Rounds upwards.
inline std::size_t divided_up(std::size_t number, std::size_t divisor) { return (number + divisor - 1) / divisor; }

// The smallest and the largest value of a random number.
struct Bounds {
  std::size_t least = 0, most = 0;
};

// Several hosts with as many ranks each.
struct HostShape {
  std::size_t hosts = 1;
  int ranks = 1;                    // of each host
};

// Between which bounds the length of trainings is drawn.
struct VerifyLength {
  Bounds batch;                     // global batch
  Bounds steps;                     // of the longest part of an interrupted full training, or of a whole brief one; rounded up to epochs
};

struct VerifyScope {
  std::vector<PluginSummary> plugins;          // that may be opened
  std::vector<int> ranks = {2, 3, 4, 8};
  std::vector<HostShape> hosts = {{2, 1}, {2, 2}, {3, 1}, {3, 2}};  // on CPUs, with the first optimiser and brief trainings
  std::vector<int> first_ranks;                // more, with the first optimiser and brief trainings only
  // "momentum" is sgd with that of the config, or 0.9. Learning rates are verify's own; what else the config says of an optimiser holds.
  std::vector<std::string> optimizers = {"sgd", "momentum", "adam", "adadelta"};
  DeviceKind device_kind = DeviceKind::cpu;
  std::uint64_t seed = 1;                      // of initial weights, orders of samples and everything that is drawn
  // Training samples: drawn from all of the data. A prime number: the last batch of an epoch is short.
  std::size_t samples = 199;
  // Of trainings that are compared with one device, with the first optimiser: a fault may begin late.
  VerifyLength full = {{9, 14}, {80, 160}};
  VerifyLength brief = {{9, 14}, {45, 75}};    // of the others
  // Learning rates, their schedule and the number of epochs are the config's. Trainings end after `most_epochs` of them.
  bool has_own_schedule = false;
  std::size_t most_epochs = 0;
  // Trainings have one more epoch, before which they may be interrupted: what is saved has all steps behind it.
  bool resumes_late = false;
};

// The scope of `verify --quick`: the same checks with the same limits on one number of ranks, with two optimisers, fewer
// samples and shorter trainings.
VerifyScope quick_scope();

// Adds the numbers of ranks with which a run of the config trains, up to 16, on this number of devices. `quick`: with the first optimiser
// only, and of `devices: auto` the largest number.
void add_ranks(VerifyScope& scope, const Config& config, std::size_t devices, bool quick);

// Adds the config's optimiser if the scope does not have it.
void add_optimizer(VerifyScope& scope, const OptimizerConfig& optimizer);

// The name of the config's optimiser in a scope: "momentum" for sgd with momentum.
std::string optimizer_name(const OptimizerConfig& optimizer);

// How far rounding may move weights of smooth networks. The error of the planted strategy is a thousand times larger. Adam and
// Adagrad divide small gradients by their own size, which enlarges rounding.
double rounding_limit(const std::string& optimizer);

// The lengths of full or brief trainings with one optimiser, drawn from the seed. A fault that begins at some step, or occurs in every
// k-th one, cannot know where a training ends.
struct Extent {
  std::size_t batch = 0;
  std::size_t steps_per_epoch = 0;
  std::size_t epochs = 0;           // at least four
  std::size_t checkpoints[2] = {0, 0};  // epochs before each interruption
  std::size_t unsettled = 0;        // an epoch after which a disturbed training does not settle; not before a checkpoint
  // Before these steps, counted over all epochs, the learning rate changes: once before the first checkpoint, and once behind the last.
  std::size_t rate_changes[2] = {0, 0};
};
Extent extent_of(const VerifyScope& scope, const std::string& optimizer, bool is_brief);

}  // namespace mgcompare
