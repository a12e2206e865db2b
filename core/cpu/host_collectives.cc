#include "cpu/host_collectives.h"

#include <numeric>

#include "base/clock.h"
#include "cpu/element_access.h"
#include "cpu/sum.h"
#include "mgcompare/error.h"

namespace mgcompare {
namespace {

const char* at(const void* data, std::size_t bytes) { return static_cast<const char*>(data) + bytes; }

std::size_t total(const Counts& counts) { return std::accumulate(counts.begin(), counts.end(), std::size_t{0}); }

// Vectors of bytes, of which elements [range) are added.
void add_terms(const std::vector<const char*>& terms, const std::vector<void*>& to, Range range, Type type) {
  with_type(type, [&]<class T>(T) {
    std::vector<const T*> from;
    std::vector<T*> targets;
    for (const char* term : terms) from.push_back(reinterpret_cast<const T*>(term));
    for (void* target : to) targets.push_back(static_cast<T*>(target));
    add_ranks(from, targets, range);
  });
}

}  // namespace

template <class Work> double HostCollectives::run_collective(int rank, const Slot& slot, Work work) {
  const std::size_t own = local(static_cast<std::size_t>(rank));
  slots_[own] = slot;
  traffic_[own] = {};
  // Before the barrier, so that no rank unwinds between it and the work.
  if (own == 0) set_working(true);
  try {
    const double start = now();
    barrier_.wait();
    const double waited = now() - start;
    if (own == 0) {
      check_same_call(slots_, first());
      work();
      set_working(false);
    }
    barrier_.wait();
    return waited;
  } catch (...) {
    if (own == 0) set_working(false);
    // Unwinding may free this rank's vectors, which the first rank still uses.
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return !is_working_; });
    throw;
  }
}

void HostCollectives::set_working(bool working) {
  const std::lock_guard lock(mutex_);
  is_working_ = working;
  if (!working) idle_.notify_all();
}

void HostCollectives::exchange(const std::vector<Outgoing>& out, const std::vector<Incoming>& in) {
  for (const Outgoing& part : out) traffic_[0].between_hosts += static_cast<double>(part.bytes);
  hosts_.transport->exchange(out, in);
}

void HostCollectives::abort() {
  barrier_.abort();
  hosts_.transport->abort();
}

std::vector<const char*> HostCollectives::own_terms(std::size_t count, Type type) {
  std::vector<const char*> terms;
  for (const Slot& slot : slots_) terms.push_back(static_cast<const char*>(slot.data));
  if (in_rank_order_ || here_ == 1) return terms;
  sum_.resize(count * size_of(type));
  add_terms(terms, {sum_.data()}, {0, count}, type);
  return {sum_.data()};
}

std::vector<const char*> HostCollectives::all_terms(const std::vector<Range>& wanted, std::size_t count, Type type) {
  const std::size_t width = size_of(type);
  const std::vector<const char*> own = own_terms(count, type);
  const Range here = wanted[hosts_.number];
  received_.resize((hosts_.count - 1) * own.size() * here.size() * width);
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  std::vector<const char*> terms;
  char* next = received_.data();
  for (std::size_t host = 0; host < hosts_.count; ++host) {
    for (const char* term : own) {
      if (host == hosts_.number) {
        terms.push_back(term + here.begin * width);
        continue;
      }
      out.push_back({host, term + wanted[host].begin * width, wanted[host].size() * width});
      in.push_back({host, next, here.size() * width});
      terms.push_back(next);
      next += here.size() * width;
    }
  }
  exchange(out, in);
  return terms;
}

double HostCollectives::all_reduce(int rank, void* data, std::size_t count, Type type) {
  return run_collective(rank, {.call = {"all_reduce", type}, .data = data, .size = count}, [&] {
    check_equal_sizes(slots_);
    const std::size_t width = size_of(type);
    std::vector<Range> slices;
    for (std::size_t host = 0; host < hosts_.count; ++host) slices.push_back(share(count, host, hosts_.count));
    const Range mine = slices[hosts_.number];
    std::vector<void*> to;
    for (const Slot& slot : slots_) to.push_back(at(slot.data, mine.begin * width));
    add_terms(all_terms(slices, count, type), to, {0, mine.size()}, type);
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    for (std::size_t host = 0; host < hosts_.count; ++host) {
      if (host == hosts_.number) continue;
      out.push_back({host, to[0], mine.size() * width});
      in.push_back({host, at(data, slices[host].begin * width), slices[host].size() * width});
    }
    exchange(out, in);
    for (std::size_t other = 1; other < here_; ++other) copy_bytes(slots_[other].data, data, count * width);
    share_within(static_cast<double>(count * width), true);
  });
}

double HostCollectives::reduce(int rank, void* data, std::size_t count, Type type, int root) {
  return run_collective(rank, {.call = {"reduce", type, root}, .data = data, .size = count}, [&] {
    check_equal_sizes(slots_);
    const auto to = static_cast<std::size_t>(root);
    std::vector<Range> wanted(hosts_.count);
    wanted[host_of(to)] = {0, count};
    const std::vector<const char*> terms = all_terms(wanted, count, type);
    if (is_here(to)) add_terms(terms, {slots_[local(to)].data}, {0, count}, type);
    share_within(static_cast<double>(count * size_of(type)), false);
  });
}

double HostCollectives::broadcast(int rank, void* data, std::size_t bytes, int root) {
  return run_collective(rank, {.call = {"broadcast", Type::uint8, root}, .data = data, .size = bytes}, [&] {
    check_equal_sizes(slots_);
    const auto from = static_cast<std::size_t>(root);
    const std::size_t source = is_here(from) ? local(from) : 0;
    std::vector<Outgoing> out;
    for (std::size_t host = 0; is_here(from) && host < hosts_.count; ++host)
      if (host != hosts_.number) out.push_back({host, slots_[source].data, bytes});
    if (is_here(from)) exchange(out, {});
    else exchange({}, {{host_of(from), slots_[source].data, bytes}});
    for (std::size_t to = 0; to < here_; ++to)
      if (to != source) copy_bytes(slots_[to].data, slots_[source].data, bytes);
    traffic_[source].within_host += static_cast<double>(bytes * (here_ - 1));
  });
}

double HostCollectives::gather(int rank, const void* mine, void* all, const Counts& bytes, int root) {
  return run_collective(rank, {.call = {"gather", Type::uint8, root}, .data = const_cast<void*>(mine), .into = all, .counts = &bytes}, [&] {
    check_equal_counts(slots_);
    const auto to = static_cast<std::size_t>(root);
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    for (std::size_t from = 0, begin = 0; from < ranks(); begin += bytes[from++]) {
      if (is_here(from) && is_here(to)) {
        copy_bytes(at(slots_[local(to)].into, begin), slots_[local(from)].data, bytes[from]);
        if (from != to) traffic_[local(from)].within_host += static_cast<double>(bytes[from]);
      } else if (is_here(from)) {
        out.push_back({host_of(to), slots_[local(from)].data, bytes[from]});
      } else if (is_here(to)) {
        in.push_back({host_of(from), at(slots_[local(to)].into, begin), bytes[from]});
      }
    }
    exchange(out, in);
  });
}

double HostCollectives::scatter(int rank, const void* all, void* mine, const Counts& bytes, int root) {
  return run_collective(rank, {.call = {"scatter", Type::uint8, root}, .data = const_cast<void*>(all), .into = mine, .counts = &bytes}, [&] {
    check_equal_counts(slots_);
    const auto from = static_cast<std::size_t>(root);
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    for (std::size_t to = 0, begin = 0; to < ranks(); begin += bytes[to++]) {
      if (is_here(from) && is_here(to)) {
        copy_bytes(slots_[local(to)].into, at(slots_[local(from)].data, begin), bytes[to]);
        if (from != to) traffic_[local(from)].within_host += static_cast<double>(bytes[to]);
      } else if (is_here(from)) {
        out.push_back({host_of(to), at(slots_[local(from)].data, begin), bytes[to]});
      } else if (is_here(to)) {
        in.push_back({host_of(from), slots_[local(to)].into, bytes[to]});
      }
    }
    exchange(out, in);
  });
}

double HostCollectives::all_gather(int rank, const void* mine, void* all, const Counts& bytes) {
  return run_collective(rank, {.call = {"all_gather"}, .data = const_cast<void*>(mine), .into = all, .counts = &bytes}, [&] {
    check_equal_counts(slots_);
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    for (std::size_t from = 0, begin = 0; from < ranks(); begin += bytes[from++]) {
      if (!is_here(from)) {
        in.push_back({host_of(from), at(all, begin), bytes[from]});
        continue;
      }
      copy_bytes(at(all, begin), slots_[local(from)].data, bytes[from]);
      for (std::size_t host = 0; host < hosts_.count; ++host)
        if (host != hosts_.number) out.push_back({host, slots_[local(from)].data, bytes[from]});
      if (local(from) != 0) traffic_[local(from)].within_host += static_cast<double>(bytes[from]);
    }
    exchange(out, in);
    for (std::size_t other = 1; other < here_; ++other) copy_bytes(slots_[other].into, all, total(bytes));
    traffic_[0].within_host += static_cast<double>(total(bytes) * (here_ - 1));
  });
}

double HostCollectives::reduce_scatter(int rank, const void* all, void* mine, const Counts& counts, Type type) {
  return run_collective(rank, {.call = {"reduce_scatter", type}, .data = const_cast<void*>(all), .into = mine, .counts = &counts}, [&] {
    check_equal_counts(slots_);
    std::vector<Range> wanted;
    for (std::size_t host = 0; host < hosts_.count; ++host)
      wanted.push_back({before(counts, host * here_), before(counts, (host + 1) * here_)});
    const std::vector<const char*> terms = all_terms(wanted, total(counts), type);
    for (std::size_t own = 0, begin = 0; own < here_; begin += counts[first() + own++]) {
      std::vector<const char*> parts;
      for (const char* term : terms) parts.push_back(term + begin * size_of(type));
      add_terms(parts, {slots_[own].into}, {0, counts[first() + own]}, type);
    }
    share_within(static_cast<double>(total(counts) * size_of(type)), false);
  });
}

double HostCollectives::all_to_all(int rank, const void* out, const Counts& out_bytes, void* in, const Counts& in_bytes) {
  const Slot slot{.call = {"all_to_all"}, .data = const_cast<void*>(out), .into = in, .counts = &out_bytes, .into_counts = &in_bytes};
  return run_collective(rank, slot, [&] {
    std::vector<Outgoing> sent;
    std::vector<Incoming> received;
    // In the order of the senders, then of the receivers, on both sides.
    for (std::size_t from = 0; from < ranks(); ++from) {
      for (std::size_t to = 0; to < ranks(); ++to) {
        if (!is_here(from) && !is_here(to)) continue;
        void* const target = is_here(to) ? at(slots_[local(to)].into, before(*slots_[local(to)].into_counts, from)) : nullptr;
        if (!is_here(from)) {
          received.push_back({host_of(from), target, (*slots_[local(to)].into_counts)[from]});
          continue;
        }
        const Counts& counts = *slots_[local(from)].counts;
        const char* const source = at(static_cast<const void*>(slots_[local(from)].data), before(counts, to));
        if (!is_here(to)) {
          sent.push_back({host_of(to), source, counts[to]});
          continue;
        }
        if (const std::size_t expected = (*slots_[local(to)].into_counts)[from]; counts[to] != expected)
          throw Error("all_to_all: rank " + std::to_string(from) + " sends " + std::to_string(counts[to]) + " bytes to rank " + std::to_string(to) +
                      ", which expects " + std::to_string(expected) + "; counts must agree on both ranks");
        copy_bytes(target, source, counts[to]);
        if (from != to) traffic_[local(from)].within_host += static_cast<double>(counts[to]);
      }
    }
    exchange(sent, received);
  });
}

void HostCollectives::share_within(double bytes, bool returns) {
  for (std::size_t other = 1; other < here_; ++other) traffic_[other].within_host += bytes;
  if (returns) traffic_[0].within_host += bytes * static_cast<double>(here_ - 1);
}

void HostCollectives::load(int, const float* from, Vec into) { load_elements(from, into); }
void HostCollectives::store(int, float* to, ConstVec from) { store_elements(to, from); }
void HostCollectives::accumulate(int, float* to, ConstVec from) { add_elements(to, from); }

void HostCollectives::get(int rank, int, const float* from, Vec into) { load(rank, from, into); }
void HostCollectives::put(int rank, int, float* to, ConstVec from) { store(rank, to, from); }
void HostCollectives::add(int rank, int, float* to, ConstVec from) { accumulate(rank, to, from); }

}  // namespace mgcompare
