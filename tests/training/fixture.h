#pragma once

// Ranks as threads on the CPU back end, and small trials on built-in digits.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/digits.h"
#include "discovery/plugin_files.h"
#include "mgcompare/group.h"
#include "modules/platform_host.h"
#include "modules/plugin_host.h"
#include "runtime/rank_group.h"
#include "base/rank_threads.h"
#include "train/training.h"

namespace mgcompare::testing {

// Runs body(rank, device, group) on every rank; rethrows the first error.
inline void spawn(std::size_t ranks, const std::function<void(Device&, RankGroup&)>& body,
                  std::unique_ptr<AsyncScheduler> scheduler = live_scheduler()) {
  Platform& cpu = platform(DeviceKind::cpu);
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<Device*> of_rank;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    devices.push_back(cpu.open(0));
    of_rank.push_back(devices.back().get());
  }
  const std::unique_ptr<Collectives> collectives = cpu.connect(of_rank);
  CommContext context(*collectives, RankSpan::whole(ranks), std::move(scheduler));
  run_ranks(
      ranks,
      [&](int rank) {
        RankGroup group(context, static_cast<std::size_t>(rank));
        body(*of_rank[static_cast<std::size_t>(rank)], group);
      },
      [&] { context.abort(); });
}

// 730 and 200 built-in digits.
const Dataset& small_digits();
// The same with the given number of training samples.
Dataset first_digits(std::size_t samples);

// A small network with odd sizes, so that nothing divides by accident.
ModelConfig small_model();
// The same with batch normalisation, but not directly after the convolution: there the gradient of the bias would be rounding
// errors only, which Adam scales up to full steps.
ModelConfig normalised_model();
ModelConfig lenet_model();

// Two epochs with batches of 50 on `ranks` ranks of one device, sgd with momentum.
Trial small_trial(std::size_t ranks, const std::string& plugin = "", const std::vector<OptionConfig>& options = {});

// Trains with the trial's plugin, or with the strategy that `make` returns.
TrainingOutcome run(const Trial& trial, const MakeStrategy& make = {}, const std::function<void(TrainingRequest&)>& tune = {});

// The same with the trial's plugin, interrupted after its first checkpoint and resumed from it. Expects the
// interruption.
TrainingOutcome run_in_two_parts(const Trial& trial, const std::function<void(TrainingRequest&)>& tune = {});

// Expects that an interrupted and resumed trial has the same bits as an uninterrupted one.
void expect_resumable(const Trial& trial);

double largest_difference(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace mgcompare::testing
