// Parameters owned by devices (MXNet's kvstore `device`). Each piece has one owner. Ranks push gradients to it as the
// backward pass finishes them; the owner adds them and updates the piece with its part of the optimiser's state; all ranks
// pull the new values, first layers first. A piece is a tensor, as in MXNet, or an equal range of the flat vector, which
// balances the load if one tensor is large.

#include <algorithm>
#include <numeric>

#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

struct Piece {
  Range range;
  int owner;
};

// Largest tensor first, each to the owner with the least elements so far; ties go to the lowest rank.
std::vector<Piece> owned_tensors(const std::vector<Part>& parts, std::size_t ranks) {
  std::vector<std::size_t> by_size(parts.size()), load(ranks);
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](std::size_t a, std::size_t b) { return parts[a].range.size() > parts[b].range.size(); });
  std::vector<Piece> pieces(parts.size());
  for (const std::size_t part : by_size) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += parts[part].range.size();
    pieces[part] = {parts[part].range, static_cast<int>(least - load.begin())};
  }
  return pieces;
}

std::vector<Piece> owned_ranges(std::size_t elements, std::size_t ranks) {
  std::vector<Piece> pieces;
  for (std::size_t rank = 0; rank < ranks; ++rank) pieces.push_back({share(elements, rank, ranks), static_cast<int>(rank)});
  return pieces;
}

class ShardedServer : public Strategy {
 public:
  ShardedServer(Options& options, const Facts&)
      : by_tensor_(options.choice("shard", "tensor", "what an owner owns: whole tensors, or an equal range of all elements",
                                  {"tensor", "range"}) == "tensor") {}

  Traits traits() const override {
    Traits traits;
    traits.promise = Traits::Promise::exact;
    traits.in_rank_order = true;
    traits.repeats_every = 1;
    return traits;
  }

  void start(Replica& replica, Group& group) override {
    const auto ranks = static_cast<std::size_t>(group.size());
    pieces_ = by_tensor_ ? owned_tensors(replica.parts(), ranks) : owned_ranges(replica.weights().size(), ranks);
    std::size_t owned = 0;
    for (const Piece& piece : pieces_) owned += piece.owner == group.rank() ? piece.range.size() : 0;
    replica.metric("owned bytes", static_cast<double>(owned * sizeof(float)));
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    push(replica, group, batch);
    for (const Piece& piece : pieces_)
      if (piece.owner == group.rank()) replica.update(piece.range);
    for (const Piece& piece : pieces_) group.broadcast(replica.weights().slice(piece.range), piece.owner);
  }

 private:
  void push(Replica& replica, Group& group, const Batch& batch) {
    const Vec gradients = replica.gradients();
    auto next = pieces_.rbegin();
    replica.backward(batch, [&](Vec slice) {
      const auto ready = static_cast<std::size_t>(slice.data() - gradients.data());
      for (; next != pieces_.rend() && next->range.begin >= ready; ++next)
        group.reduce(gradients.slice(next->range), next->owner);
    });
  }

  bool by_tensor_;
  std::vector<Piece> pieces_;  // in the order of the flat vector
};

}  // namespace

MGCOMPARE_STRATEGY(ShardedServer, "sharded_server", "each device owns some parameters: push gradients to it, pull the update (nearest to ZeRO and FSDP)")
