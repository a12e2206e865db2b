#pragma once

// All ranks of a trial, as one of them sees the others. The program counts the bytes and the time of every call.
//
// Thread: the rank's own, for every call.
// Errors: every call that waits throws Aborted after another rank failed. Wrong arguments (a root, rank or window that does
// not exist, a wrong number of counts, a vector shorter than its counts, a range outside of a window) throw Error. Lengths that differ between ranks throw
// Error on CPU devices; on GPUs they are not always detected.
//
// Collectives (all_reduce to all_to_all): every rank makes the same calls in the same order. Vectors are in device memory.
// The calls are stream-ordered: they read what was queued before them, and work queued later sees their result. T is
// Addable in reductions, and any trivially copyable type elsewhere.
// Reductions add floating-point types in float32 and in a fixed order (rank order on CPU devices of one host): all ranks get the
// same bits. Sums of unsigned integers wrap around. Steps and rest() at free pace must not call them or barrier(): they throw Error there. Counts are
// elements, one for each rank; none given means equal sizes. Steps with collectives can be captured.
//
// Payload bytes that a rank sends, for N ranks and S bytes of the whole vector: all_reduce 2(N-1)/N S; reduce_scatter,
// all_gather (N-1)/N S; reduce S on each rank but the root; broadcast, scatter: what the root sends to others; gather:
// what each rank but the root sends; all_to_all: what is for others; put, add: all; get: counted on the caller. A rank
// sends nothing to itself. On several hosts the bytes are those that docs/hosts.md describes.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "mgcompare/types.h"

namespace mgcompare {

using Counts = std::vector<std::size_t>;

// What reductions add. Other types do not compile there.
template <class T>
concept Addable = std::same_as<T, float> || std::same_as<T, Half> || std::same_as<T, BFloat16> || std::same_as<T, std::uint8_t> ||
                  std::same_as<T, std::uint32_t>;

class Group {
 public:
  virtual ~Group() = default;
  virtual int rank() const = 0;  // 0 to size() - 1
  virtual int size() const = 0;

  // Collective, host-ordered: returns when every rank has called it. Does not wait for devices.
  virtual void barrier() = 0;

  // The sum over ranks, in place, on every rank.
  template <Addable T> void all_reduce(Span<T> data);
  // The same on the root only; other ranks' vectors keep their values.
  template <Addable T> void reduce(Span<T> data, int root);
  template <class T> void broadcast(Span<T> data, int root);
  // `all` is the ranks' vectors in rank order. It may be empty on ranks other than the root. In these calls `mine` may be the rank's own part
  // of `all`, as when a rank updates its part of the weights; vectors that overlap in another way are undefined behaviour.
  template <class T> void gather(Span<T> mine, Span<std::remove_const_t<T>> all, int root, const Counts& counts = {});
  template <class T> void scatter(Span<T> all, Span<std::remove_const_t<T>> mine, int root, const Counts& counts = {});
  template <class T> void all_gather(Span<T> mine, Span<std::remove_const_t<T>> all, const Counts& counts = {});
  template <class T>
    requires Addable<std::remove_const_t<T>>
  void reduce_scatter(Span<T> all, Span<std::remove_const_t<T>> mine, const Counts& counts = {});
  // `out_counts[k]` elements of `out` go to rank k, `in_counts[k]` of `in` come from it. Both vectors are in rank order.
  template <class T>
  void all_to_all(Span<T> out, const Counts& out_counts, Span<std::remove_const_t<T>> in, const Counts& in_counts);

  // Collective, host-ordered: one host object for all ranks of this host. The first rank makes it (`make` returns a
  // unique_ptr or shared_ptr and may use the group), the others wait. `name` distinguishes objects of one type. It is
  // destroyed after the strategies of the trial, or of the warm-up. Access to it is the author's to order.
  template <class T, std::invocable Make> T& shared(Make make, const std::string& name = "");
  template <class T> T& shared(const std::string& name = "");

  // Host-ordered, not collective; for asynchronous ranks. Runs `f` on this thread while no other rank runs an exclusive()
  // of the same stripe (compared modulo 256). All asynchronous contact between ranks goes through exclusive() and
  // wait_until(), so that a trial can run in virtual time and be replayed. `f` may call peer(), but no other method of the
  // group. A replay whose order does not fit throws Error. On several hosts the first one orders the sections of all ranks.
  virtual void exclusive(std::size_t stripe, const std::function<void()>& f) = 0;
  // Host-ordered: sleeps until `predicate` holds. It is evaluated again after each exclusive section of any rank, on any
  // rank's thread, and never during a section. Throws Error in virtual time when all ranks wait.
  virtual void wait_until(const std::function<bool()>& predicate) = 0;

  // One-sided access to other ranks' device memory. expose() is collective and host-ordered: it makes this rank's vector
  // (which may be empty) a window, and returns the window's number, the same on all ranks. The memory must stay valid
  // until the strategies are destroyed.
  virtual int expose(Vec memory) = 0;
  // Not collective; stream-ordered on the caller's device only. To order accesses of several ranks, make them in
  // exclusive() and synchronize the device before it returns. `begin` counts elements of the window. add() adds each
  // element atomically, so that several ranks may add at once. Ranks of other hosts are reached in the same way. A call
  // returns when the memory there has been read or written. That may be later than the transfer itself ends: by up to a sixteenth of the time
  // since the last such access, at most 1 ms, or 10 ms if there was none for a second.
  class Peer {
   public:
    Peer(Group& group, int rank) : group_(group), rank_(rank) {}
    void get(int window, std::size_t begin, Vec into);
    void put(int window, std::size_t begin, ConstVec from);
    void add(int window, std::size_t begin, ConstVec from);

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
  Counts sizes(std::size_t mine, const Counts& counts, std::size_t width) const;
  // By the counts, or by the length of `mine` where there are none.
  std::size_t elements_of_rank(std::size_t mine, const Counts& counts) const;
  std::size_t elements_of_all(std::size_t mine, const Counts& counts) const;
  // Throws Error if a vector is shorter than what the call reads or writes.
  static void expect_room(const char* call, const char* vector, std::size_t has, std::size_t needed);
};

}  // namespace mgcompare

#include "mgcompare/detail/group.h"
