#include "measure/comm_wait_split.h"

#include <algorithm>
#include <numeric>

namespace mgcompare {

std::vector<RankTimes> split_exchanges(const std::vector<StepBreakdown>& of_ranks) {
  std::vector<RankTimes> all_times;
  for (const StepBreakdown& rank : of_ranks) all_times.push_back(rank.times);
  std::vector<double> transfers = of_ranks.at(0).exchanges;
  for (const StepBreakdown& rank : of_ranks) {
    if (rank.exchanges.size() != transfers.size()) return all_times;
    for (std::size_t i = 0; i < transfers.size(); ++i) transfers[i] = std::min(transfers[i], rank.exchanges[i]);
  }
  const double transfer = std::accumulate(transfers.begin(), transfers.end(), 0.0);
  for (std::size_t k = 0; k < of_ranks.size(); ++k) {
    const std::vector<double>& seconds = of_ranks[k].exchanges;
    RankTimes& times = all_times[k];
    const double all = std::accumulate(seconds.begin(), seconds.end(), 0.0), waiting = std::min(times.exchange, all - transfer);
    times.waiting += waiting;
    times.exchange -= waiting;
    times.overlapped += std::max(0.0, transfer - times.exchange);
  }
  return all_times;
}

}  // namespace mgcompare
