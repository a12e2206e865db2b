#include "runtime/rehearsed_collectives.h"

namespace mgcompare {

double RehearsedCollectives::gather(int rank, const void* mine, void* all, const Counts& bytes, int root) {
  return rank == root ? all_gather(rank, mine, all, bytes) : 0;
}

double RehearsedCollectives::scatter(int rank, const void* all, void* mine, const Counts& bytes, int root) {
  const auto own = static_cast<std::size_t>(rank);
  if (rank == root) copy(mine, static_cast<const char*>(all) + before(bytes, own), bytes[own]);
  return 0;
}

double RehearsedCollectives::all_gather(int rank, const void* mine, void* all, const Counts& bytes) {
  const auto own = static_cast<std::size_t>(rank);
  copy(static_cast<char*>(all) + before(bytes, own), mine, bytes[own]);
  return 0;
}

double RehearsedCollectives::reduce_scatter(int rank, const void* all, void* mine, const Counts& counts, Type type) {
  const auto own = static_cast<std::size_t>(rank);
  copy(mine, static_cast<const char*>(all) + before(counts, own) * size_of(type), counts[own] * size_of(type));
  return 0;
}

double RehearsedCollectives::all_to_all(int rank, const void* out, const Counts& out_bytes, void* in, const Counts& in_bytes) {
  const auto own = static_cast<std::size_t>(rank);
  copy(static_cast<char*>(in) + before(in_bytes, own), static_cast<const char*>(out) + before(out_bytes, own), out_bytes[own]);
  return 0;
}

}  // namespace mgcompare
