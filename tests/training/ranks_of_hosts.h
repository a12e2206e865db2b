#pragma once

// Ranks as threads of hosts, which are threads too.

#include <functional>
#include <memory>
#include <vector>

#include "check/joined_hosts.h"
#include "fixture.h"

namespace mgcompare::testing {

template <class T> Span<T> span_of(std::vector<T>& values) { return {values.data(), values.size()}; }

struct HostRanks {
  std::size_t hosts = 2, ranks = 2;  // on each host
  bool in_rank_order = false;
};

using MakeScheduler = std::function<std::unique_ptr<AsyncScheduler>(std::size_t ranks)>;

// Runs body(group, context) on every rank of every host; rethrows the first error.
inline void spawn_on_hosts(const HostRanks& shape, const std::function<void(RankGroup&, CommContext&)>& body,
                           const MakeScheduler& make_scheduler = [](std::size_t) { return live_scheduler(); }) {
  on_joined_hosts(shape.hosts, [&](const HostSpan& span) {
    Platform& cpu = platform(DeviceKind::cpu);
    std::vector<std::unique_ptr<Device>> devices;
    std::vector<Device*> of_rank;
    for (std::size_t rank = 0; rank < shape.ranks; ++rank) {
      devices.push_back(cpu.open(0));
      of_rank.push_back(devices.back().get());
    }
    const std::unique_ptr<Collectives> collectives = cpu.connect_hosts(of_rank, span, shape.in_rank_order);
    const std::size_t all = shape.hosts * shape.ranks, first = span.number * shape.ranks;
    CommContext context(*collectives, {first, shape.ranks, all}, make_scheduler(all), span);
    run_ranks(
        shape.ranks,
        [&](int rank) {
          RankGroup group(context, first + static_cast<std::size_t>(rank));
          body(group, context);
        },
        [&] { context.abort(); });
  });
}

}  // namespace mgcompare::testing
