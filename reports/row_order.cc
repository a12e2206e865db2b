#include "reports/row_order.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>

#include "reports/copies.h"

namespace mgcompare {
namespace {

// The copies of two baselines, searched once for each pair of baselines.
class CopiesBeside {
 public:
  CopiesBeside(const std::vector<Cell>& cells, const Figure& figure) : cells_(cells), figure_(figure) {}
  const std::optional<Copies>& of(const RowPair& pair) {
    const Key key = {pair.one->own_baseline, pair.other->own_baseline};
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
    return known_.emplace(key, copies_beside(cells_, figure_, *pair.one, *pair.other)).first->second;
  }

 private:
  using Key = std::pair<std::optional<std::size_t>, std::optional<std::size_t>>;
  const std::vector<Cell>& cells_;
  const Figure figure_;
  std::map<Key, std::optional<Copies>> known_;
};

}  // namespace

std::vector<RowOrder> order_rows(const std::vector<Cell>& cells, const std::vector<RowPair>& pairs, const Figure& figure) {
  std::vector<std::pair<const Spread*, const Spread*>> figures;
  for (const RowPair& pair : pairs) figures.emplace_back(&(pair.one->*figure.of_cell), &(pair.other->*figure.of_cell));
  const std::vector<Order> orders = compare_all(figures);
  CopiesBeside beside(cells, figure);
  std::vector<RowOrder> all;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const RowPair& pair = pairs[i];
    const Spread factor = pair.factor != nullptr ? *pair.factor : figure.factor(*pair.one, *pair.other);
    RowOrder found = {orders[i]};
    const bool is_ahead = (found.order == Order::above) != figure.is_duration;
    if (found.order == Order::undecided) {
      found.doubt = doubt_of(*figures[i].first, *figures[i].second, factor);
    } else if (factor.count > 0 && !(is_ahead ? factor.low > 1 : factor.high < 1)) {
      found = {Order::undecided, includes_one(factor) ? "the interval, seed by seed, includes 1" : "seed by seed the order is the other way round"};
    } else if (const std::optional<Copies>& copies = beside.of(pair); factor.count > 0 && copies && copies->departure() >= departure_of(factor)) {
      found = {Order::undecided, fmt::format("the A/A check is off by as much (a factor of {:.2f})", copies->off_by()), true};
    }
    all.push_back(std::move(found));
  }
  return all;
}

}  // namespace mgcompare
