#include "cpu/collectives.h"

#include "base/clock.h"
#include "cpu/element_access.h"
#include "cpu/sum.h"

namespace mgcompare {

double CpuCollectives::wait() {
  const double start = now();
  barrier_.wait();
  return now() - start;
}

template <class Work> double CpuCollectives::run_collective(int rank, const Slot& slot, Work work) {
  // Counted before the barrier, so that a rank that unwinds can wait for all possible readers of its vectors.
  struct Reading {
    CpuCollectives& all;
    explicit Reading(CpuCollectives& collectives) : all(collectives) {
      const std::lock_guard lock(all.mutex_);
      ++all.readers_;
    }
    ~Reading() {
      const std::lock_guard lock(all.mutex_);
      if (--all.readers_ == 0) all.no_readers_.notify_all();
    }
  };
  try {
    slots_[static_cast<std::size_t>(rank)] = slot;
    double waited = 0;
    {
      const Reading reading(*this);
      waited = wait();
      check_same_call(slots_);
      work();
    }
    return waited + wait();
  } catch (...) {
    // Unwinding may free this rank's vectors: wait until no other rank reads them.
    std::unique_lock lock(mutex_);
    no_readers_.wait(lock, [&] { return readers_ == 0; });
    throw;
  }
}

double CpuCollectives::all_reduce(int rank, void* data, std::size_t count, Type type) {
  return run_collective(rank, {{"all_reduce", type}, data, nullptr, count}, [&] {
    check_equal_sizes(slots_);
    with_type(type, [&]<class T>(T) {
      std::vector<const T*> from;
      std::vector<T*> to;
      for (const Slot& slot : slots_) {
        from.push_back(static_cast<const T*>(slot.data));
        to.push_back(static_cast<T*>(slot.data));
      }
      add_ranks(from, to, share(count, static_cast<std::size_t>(rank), ranks_));
    });
  });
}

double CpuCollectives::reduce(int rank, void* data, std::size_t count, Type type, int root) {
  return run_collective(rank, {{"reduce", type, root}, data, nullptr, count}, [&] {
    check_equal_sizes(slots_);
    with_type(type, [&]<class T>(T) {
      std::vector<const T*> from;
      for (const Slot& slot : slots_) from.push_back(static_cast<const T*>(slot.data));
      add_ranks(from, {static_cast<T*>(slots_[static_cast<std::size_t>(root)].data)},
                share(count, static_cast<std::size_t>(rank), ranks_));
    });
  });
}

double CpuCollectives::broadcast(int rank, void* data, std::size_t bytes, int root) {
  return run_collective(rank, {{"broadcast", Type::uint8, root}, data, nullptr, bytes}, [&] {
    check_equal_sizes(slots_);
    if (rank != root) copy_bytes(data, slots_[static_cast<std::size_t>(root)].data, bytes);
  });
}

double CpuCollectives::gather(int rank, const void* mine, void* all, const Counts& bytes, int root) {
  return run_collective(rank, {{"gather", Type::uint8, root}, const_cast<void*>(mine), &bytes}, [&] {
    check_equal_counts(slots_);
    if (rank != root) return;
    for (std::size_t r = 0, begin = 0; r < ranks_; begin += bytes[r++])
      copy_bytes(at(all, begin), slots_[r].data, bytes[r]);
  });
}

double CpuCollectives::scatter(int rank, const void* all, void* mine, const Counts& bytes, int root) {
  return run_collective(rank, {{"scatter", Type::uint8, root}, const_cast<void*>(all), &bytes}, [&] {
    check_equal_counts(slots_);
    const auto me = static_cast<std::size_t>(rank);
    copy_bytes(mine, at(slots_[static_cast<std::size_t>(root)].data, before(bytes, me)), bytes[me]);
  });
}

double CpuCollectives::all_gather(int rank, const void* mine, void* all, const Counts& bytes) {
  return run_collective(rank, {{"all_gather"}, const_cast<void*>(mine), &bytes}, [&] {
    check_equal_counts(slots_);
    for (std::size_t r = 0, begin = 0; r < ranks_; begin += bytes[r++])
      copy_bytes(at(all, begin), slots_[r].data, bytes[r]);
  });
}

double CpuCollectives::reduce_scatter(int rank, const void* all, void* mine, const Counts& counts, Type type) {
  return run_collective(rank, {{"reduce_scatter", type}, const_cast<void*>(all), &counts}, [&] {
    check_equal_counts(slots_);
    const auto me = static_cast<std::size_t>(rank);
    with_type(type, [&]<class T>(T) {
      std::vector<const T*> from;
      for (const Slot& slot : slots_) from.push_back(static_cast<const T*>(slot.data) + before(counts, me));
      add_ranks(from, {static_cast<T*>(mine)}, {0, counts[me]});
    });
  });
}

double CpuCollectives::all_to_all(int rank, const void* out, const Counts& out_bytes, void* in,
                                  const Counts& in_bytes) {
  return run_collective(rank, {{"all_to_all"}, const_cast<void*>(out), &out_bytes}, [&] {
    const auto me = static_cast<std::size_t>(rank);
    for (std::size_t r = 0, begin = 0; r < ranks_; begin += in_bytes[r++]) {
      if ((*slots_[r].counts)[me] != in_bytes[r])
        throw Error("all_to_all: rank " + std::to_string(r) + " sends " + std::to_string((*slots_[r].counts)[me]) +
                    " bytes to rank " + std::to_string(rank) + ", which expects " + std::to_string(in_bytes[r]) +
                    "; counts must agree on both ranks");
      copy_bytes(at(in, begin), at(slots_[r].data, before(*slots_[r].counts, me)), in_bytes[r]);
    }
  });
}

// One-sided access takes no lock: it is atomic per element, not per vector.
void CpuCollectives::get(int, int, const float* from, Vec into) { load_elements(from, into); }
void CpuCollectives::put(int, int, float* to, ConstVec from) { store_elements(to, from); }
void CpuCollectives::add(int, int, float* to, ConstVec from) { add_elements(to, from); }

}  // namespace mgcompare
