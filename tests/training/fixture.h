#pragma once

// Ranks as threads on the CPU twin, and small trials on drawn data.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/digits.h"
#include "mgcompare/group.h"
#include "modules/platform_host.h"
#include "modules/plugin_host.h"
#include "runtime/rank_group.h"
#include "base/rank_threads.h"
#include "train/training.h"

namespace mgcompare::testing {

// Runs body(rank, device, group) on every rank; throws what a rank threw first.
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
  CommContext context(*collectives, ranks, std::move(scheduler));
  run_ranks(
      ranks,
      [&](int rank) {
        RankGroup group(context, static_cast<std::size_t>(rank));
        body(*of_rank[static_cast<std::size_t>(rank)], group);
      },
      [&] { context.abort(); });
}

// 730 and 200 drawn digits.
const Dataset& small_digits();
// The same with the first so many for training.
Dataset first_digits(std::size_t samples);

// A small network with an odd shape, so that nothing divides by accident.
ModelConfig small_model();
ModelConfig lenet_model();

// Batches of 50 on `ranks` ranks of one device for two epochs, momentum SGD.
Trial small_trial(std::size_t ranks, const std::string& plugin = "", const std::vector<OptionConfig>& options = {});

// Trains with the trial's plugin, or with `make`.
TrainingOutcome run(const Trial& trial, const MakeStrategy& make = {}, const std::function<void(TrainingRequest&)>& tune = {});

// The same with the trial's plugin, stopped after its first checkpoint and continued from that. Expects that it was stopped.
TrainingOutcome run_in_two_parts(const Trial& trial, const std::function<void(TrainingRequest&)>& tune = {});

// Expects that an interrupted and continued trial ends with the bits of an uninterrupted one.
void expect_resumable(const Trial& trial);

// The file of a strategy that was built with the program.
std::string plugin_file(const std::string& name);

double largest_difference(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace mgcompare::testing
