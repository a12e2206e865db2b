#pragma once

// All ranks of a trial, seen from one of them. Every call is counted: its bytes on the wire and its time.
//
// Collectives: every rank calls the same one in the same order; the vectors are in device memory. They are
// stream-ordered like everything queued on the device: they read what was queued before them, and what is queued after
// them sees their result. Reductions add the ranks in rank order, in float32 whatever the element type (uint8 and uint32
// add as integers), so every rank ends with the same bits. Counts are elements, one for each rank; none given means
// equal sizes. With one rank a collective is a copy and moves no bytes on the wire.
//
// Payload bytes sent by a rank, N ranks, S bytes of the whole vector: all_reduce 2(N-1)/N S; reduce_scatter, all_gather
// (N-1)/N S; reduce S on each rank but the root; broadcast, scatter: what the root sends to others; gather: what each
// rank but the root sends; all_to_all: what is for others; put and add: all; get: counted on the asking rank.

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <typeinfo>
#include <vector>

#include "mgcompare/types.h"

namespace mgcompare {

using Counts = std::vector<std::size_t>;

class Group {
 public:
  virtual ~Group() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Host: returns when every rank has come. It does not wait for devices. Throws Aborted when another rank failed, as
  // every call below does.
  virtual void barrier() = 0;

  template <class T> void all_reduce(Span<T> data) { all_reduce_raw(data.data(), data.size(), type_of<T>); }
  template <class T> void reduce(Span<T> data, int root) { reduce_raw(data.data(), data.size(), type_of<T>, root); }
  template <class T> void broadcast(Span<T> data, int root) { broadcast_raw(data.data(), data.bytes(), root); }
  // The root's `all` is the ranks' vectors one after the other; elsewhere `all` may be empty.
  template <class T> void gather(Span<T> mine, Span<std::remove_const_t<T>> all, int root, const Counts& counts = {}) {
    gather_raw(mine.data(), all.data(), sizes(mine.size(), counts, sizeof(T)), root);
  }
  template <class T> void scatter(Span<T> all, Span<std::remove_const_t<T>> mine, int root, const Counts& counts = {}) {
    scatter_raw(all.data(), mine.data(), sizes(mine.size(), counts, sizeof(T)), root);
  }
  template <class T> void all_gather(Span<T> mine, Span<std::remove_const_t<T>> all, const Counts& counts = {}) {
    all_gather_raw(mine.data(), all.data(), sizes(mine.size(), counts, sizeof(T)));
  }
  template <class T> void reduce_scatter(Span<T> all, Span<std::remove_const_t<T>> mine, const Counts& counts = {}) {
    reduce_scatter_raw(all.data(), mine.data(), sizes(mine.size(), counts, 1), type_of<std::remove_const_t<T>>);
  }
  // `out_counts[k]` elements of `out` go to rank k; `in_counts[k]` come from it. Both vectors lie in rank order.
  template <class T>
  void all_to_all(Span<T> out, const Counts& out_counts, Span<std::remove_const_t<T>> in, const Counts& in_counts) {
    all_to_all_raw(out.data(), sizes(0, out_counts, sizeof(T)), in.data(), sizes(0, in_counts, sizeof(T)));
  }

  // One host object for all ranks of this host: collective, made by the host's first rank, the others wait for it. `name`
  // tells several objects of one type apart. It lives as long as the trial.
  template <class T, std::invocable Make> T& shared(Make make, const std::string& name = "") {
    const auto erased = [&make]() -> std::shared_ptr<void> { return std::shared_ptr<T>(make()); };
    return *static_cast<T*>(shared_raw(std::string(typeid(T).name()) + '/' + name, erased));
  }
  template <class T> T& shared(const std::string& name = "") {
    return shared<T>([] { return std::make_unique<T>(); }, name);
  }

  // Runs `f` while no other rank runs an exclusive of the same stripe. All asynchronous meetings of ranks go through
  // this call and wait_until, so that a trial can be run in virtual time and replayed. `f` must not call the group, but
  // for peer().
  virtual void exclusive(std::size_t stripe, const std::function<void()>& f) = 0;
  // Sleeps until `predicate` holds; it is asked again after each exclusive section of any rank, and never during one.
  virtual void wait_until(const std::function<bool()>& predicate) = 0;

  // One-sided access to other ranks' devices. `expose` is collective: it makes a rank's vector a window (the number is
  // the same everywhere; the vector must live as long as the trial). get, put and add are stream-ordered on the caller's
  // device only; `add` adds each element atomically, so that several ranks may add at once.
  virtual int expose(Vec memory) = 0;
  class Peer {
   public:
    Peer(Group& group, int rank) : group_(group), rank_(rank) {}
    void get(int window, std::size_t begin, Vec into) { group_.get_raw(rank_, window, begin, into); }
    void put(int window, std::size_t begin, ConstVec from) { group_.put_raw(rank_, window, begin, from); }
    void add(int window, std::size_t begin, ConstVec from) { group_.add_raw(rank_, window, begin, from); }

   private:
    Group& group_;
    int rank_;
  };
  Peer peer(int rank) { return Peer(*this, rank); }

 protected:
  virtual void all_reduce_raw(void* data, std::size_t count, Type type) = 0;
  virtual void reduce_raw(void* data, std::size_t count, Type type, int root) = 0;
  virtual void broadcast_raw(void* data, std::size_t bytes, int root) = 0;
  virtual void gather_raw(const void* mine, void* all, const Counts& bytes, int root) = 0;
  virtual void scatter_raw(const void* all, void* mine, const Counts& bytes, int root) = 0;
  virtual void all_gather_raw(const void* mine, void* all, const Counts& bytes) = 0;
  virtual void reduce_scatter_raw(const void* all, void* mine, const Counts& counts, Type type) = 0;
  virtual void all_to_all_raw(const void* out, const Counts& out_bytes, void* in, const Counts& in_bytes) = 0;
  virtual void* shared_raw(const std::string& key, const std::function<std::shared_ptr<void>()>& make) = 0;
  virtual void get_raw(int rank, int window, std::size_t begin, Vec into) = 0;
  virtual void put_raw(int rank, int window, std::size_t begin, ConstVec from) = 0;
  virtual void add_raw(int rank, int window, std::size_t begin, ConstVec from) = 0;

 private:
  Counts sizes(std::size_t mine, const Counts& counts, std::size_t width) const {
    Counts scaled = counts.empty() ? Counts(static_cast<std::size_t>(size()), mine) : counts;
    for (std::size_t& count : scaled) count *= width;
    return scaled;
  }
};

}  // namespace mgcompare
