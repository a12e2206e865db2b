#include "exchange_share.h"

#include <algorithm>
#include <numeric>

namespace mgcompare {

std::vector<ExchangeShare> split_exchanges(const std::vector<Recorder::ExchangeRecord>& of_ranks) {
  std::vector<double> least = of_ranks.at(0).seconds;
  for (const Recorder::ExchangeRecord& rank : of_ranks)
    for (std::size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], rank.seconds.at(i));
  const double bare = std::accumulate(least.begin(), least.end(), 0.0);
  std::vector<ExchangeShare> shares;
  for (const Recorder::ExchangeRecord& rank : of_ranks) {
    const double all = std::accumulate(rank.seconds.begin(), rank.seconds.end(), 0.0);
    ExchangeShare share;
    share.waiting = std::min(rank.exposed, all - bare);
    share.exchange = rank.exposed - share.waiting;
    share.overlapped = std::max(0.0, bare - share.exchange);
    shares.push_back(share);
  }
  return shares;
}

}  // namespace mgcompare
