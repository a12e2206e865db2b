#pragma once

// Networks and groups of ranks on the GPUs under test.

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "cuda/collectives.h"
#include "cuda/feed.h"
#include "check/joined_hosts.h"
#include "cuda/shared_device_collectives.h"
#include "cuda/network.h"
#include "model/cases.h"
#include "model/reference.h"
#include "model/rig.h"
#include "on_gpu.h"
#include "runtime/rank_group.h"
#include "base/rank_threads.h"

namespace mgcompare::testing {

// The cases with layers by cuDNN and cuBLASLt.
inline std::vector<Case> by_library(std::vector<Case> cases) {
  for (Case& each : cases) each.numerics.kernels = KernelChoice::library;
  return cases;
}

// A network on a GPU with the weights, data and sample order of a Rig on the CPU.
class GpuRig {
 public:
  GpuRig(Rig& rig, const Numerics& numerics, bool on_host = false)
      : GpuRig(rig, numerics, rig.form, on_host) {}

  GpuRig(Rig& rig, const Numerics& numerics, const SampleSpec& samples, bool on_host)
      : device(gpu(0)),
        feed(device, samples, rig.split, preparation_of({}, samples), on_host),
        network(make_network(device, rig.spec, numerics)) {
    feed.set_order({rig.order.data(), rig.order.size()});
    device.copy_to_device(network->weights().data(), rig.weights.data(), rig.weights.size() * sizeof(float));
    device.synchronize();
  }

  std::vector<float> logits(std::size_t first, std::size_t count, const Pass& pass = {}) {
    return to_host(device, network->forward(feed, first, count, pass, {}));
  }

  std::vector<float> gradient(std::size_t first, std::size_t count, const Pass& pass = {}, float scale = 1,
                              const Ready& ready = {}) {
    const Vec out = network->forward(feed, first, count, pass, {});
    const Array<float> slopes(device, out.size());
    network->loss(feed, first, count, out, slopes.span(), scale);
    network->backward(slopes.span(), ready);
    return to_host(device, network->gradients());
  }

  cuda::CudaDevice device;
  cuda::CudaFeed feed;
  std::unique_ptr<Network> network;
};

// Runs body(device, group) on one rank for each entry of `gpus`, distinct indices of GPUs, on this many hosts with as many GPUs each. The hosts
// are threads of this process.
inline void spawn_on_hosts(std::size_t count, const std::vector<int>& gpus, bool in_rank_order, const std::function<void(Device&, RankGroup&)>& body) {
  on_joined_hosts(count, [&](const HostSpan& hosts) {
    const RankSpan span{hosts.number * gpus.size() / count, gpus.size() / count, gpus.size()};
    std::vector<std::unique_ptr<cuda::CudaDevice>> devices;
    std::vector<cuda::CudaDevice*> of_rank;
    std::vector<int> indices;
    for (std::size_t k = 0; k < span.here; ++k) {
      indices.push_back(gpus[span.first + k]);
      devices.push_back(std::make_unique<cuda::CudaDevice>(gpu(indices.back())));
      of_rank.push_back(devices.back().get());
    }
    cuda::NcclCollectives collectives(of_rank, cuda::Communicators::make(indices, hosts), [](auto) {}, in_rank_order);
    CommContext context(collectives, span, live_scheduler(), hosts);
    run_ranks(
        span.here,
        [&](int rank) {
          const auto own = static_cast<std::size_t>(rank);
          cuda::check(cudaSetDevice(indices[own]), "choosing a device");
          RankGroup group(context, span.first + own, of_rank[own]);
          body(*of_rank[own], group);
          of_rank[own]->synchronize();
          group.barrier();
        },
        [&] { context.abort(); });
  });
}

// Runs body(device, group) on one rank for each entry of `gpus`, which holds indices of GPUs.
inline void spawn_on(const std::vector<int>& gpus, const std::function<void(Device&, RankGroup&)>& body) {
  std::vector<std::unique_ptr<cuda::CudaDevice>> devices;
  std::vector<cuda::CudaDevice*> of_rank;
  for (const int index : gpus) {
    devices.push_back(std::make_unique<cuda::CudaDevice>(gpu(index)));
    of_rank.push_back(devices.back().get());
  }
  const bool apart = gpus.size() > 1 && std::set<int>(gpus.begin(), gpus.end()).size() == gpus.size();
  const auto connect = [](const std::vector<cuda::CudaDevice*>& each) {
    std::vector<int> indices;
    for (const cuda::CudaDevice* device : each) indices.push_back(device->index());
    return std::make_unique<cuda::NcclCollectives>(each, cuda::Communicators::make(indices), [](auto) {});
  };
  std::unique_ptr<Collectives> collectives;
  if (apart) collectives = connect(of_rank);
  else collectives = std::make_unique<cuda::SharedDeviceCollectives>(of_rank, connect);
  CommContext context(*collectives, RankSpan::whole(gpus.size()), live_scheduler());
  run_ranks(
      gpus.size(),
      [&](int rank) {
        cuda::check(cudaSetDevice(gpus[static_cast<std::size_t>(rank)]), "choosing a device");
        RankGroup group(context, static_cast<std::size_t>(rank));
        body(*of_rank[static_cast<std::size_t>(rank)], group);
        of_rank[static_cast<std::size_t>(rank)]->synchronize();
        group.barrier();
      },
      [&] { context.abort(); });
}

}  // namespace mgcompare::testing
