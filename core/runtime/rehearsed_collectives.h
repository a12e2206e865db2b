#pragma once

// The collectives of a rehearsal: one rank, whose partners exist in number only. Nothing is sent, and no rank waits. A rank's own
// part of a vector arrives where it belongs; the parts of others stay as they are.

#include "platform/platform.h"

namespace mgcompare {

class RehearsedCollectives : public Collectives {
 public:
  // `device`: of the rank.
  explicit RehearsedCollectives(Device& device) : device_(device) {}
  double all_reduce(int, void*, std::size_t, Type) override { return 0; }
  double reduce(int, void*, std::size_t, Type, int) override { return 0; }
  double broadcast(int, void*, std::size_t, int) override { return 0; }
  double gather(int rank, const void* mine, void* all, const Counts& bytes, int root) override;
  double scatter(int rank, const void* all, void* mine, const Counts& bytes, int root) override;
  double all_gather(int rank, const void* mine, void* all, const Counts& bytes) override;
  double reduce_scatter(int rank, const void* all, void* mine, const Counts& counts, Type type) override;
  double all_to_all(int rank, const void* out, const Counts& out_bytes, void* in, const Counts& in_bytes) override;
  // Group refuses access to other ranks.
  void get(int, int, const float*, Vec) override {}
  void put(int, int, float*, ConstVec) override {}
  void add(int, int, float*, ConstVec) override {}
  void abort() override {}
  bool recordable() const override { return true; }

 private:
  void copy(void* to, const void* from, std::size_t bytes) {
    if (to != from && bytes > 0) device_.copy(to, from, bytes);
  }
  Device& device_;
};

}  // namespace mgcompare
