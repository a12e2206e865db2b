#pragma once

// Group's typed calls in terms of its virtual ones. Included by group.h.

#include <numeric>
#include <typeinfo>
#include <utility>

#include "mgcompare/error.h"

namespace mgcompare {

template <Addable T> void Group::all_reduce(Span<T> data) { all_reduce_raw(data.data(), data.size(), type_of<T>); }
template <Addable T> void Group::reduce(Span<T> data, int root) { reduce_raw(data.data(), data.size(), type_of<T>, root); }
template <class T> void Group::broadcast(Span<T> data, int root) { broadcast_raw(data.data(), data.bytes(), root); }

template <class T>
void Group::gather(Span<T> mine, Span<std::remove_const_t<T>> all, int root, const Counts& counts) {
  expect_room("gather", "mine", mine.size(), elements_of_rank(mine.size(), counts));
  if (rank() == root) expect_room("gather", "all", all.size(), elements_of_all(mine.size(), counts));
  gather_raw(mine.data(), all.data(), sizes(mine.size(), counts, sizeof(T)), root);
}
template <class T>
void Group::scatter(Span<T> all, Span<std::remove_const_t<T>> mine, int root, const Counts& counts) {
  expect_room("scatter", "mine", mine.size(), elements_of_rank(mine.size(), counts));
  if (rank() == root) expect_room("scatter", "all", all.size(), elements_of_all(mine.size(), counts));
  scatter_raw(all.data(), mine.data(), sizes(mine.size(), counts, sizeof(T)), root);
}
template <class T> void Group::all_gather(Span<T> mine, Span<std::remove_const_t<T>> all, const Counts& counts) {
  expect_room("all_gather", "mine", mine.size(), elements_of_rank(mine.size(), counts));
  expect_room("all_gather", "all", all.size(), elements_of_all(mine.size(), counts));
  all_gather_raw(mine.data(), all.data(), sizes(mine.size(), counts, sizeof(T)));
}
template <class T>
  requires Addable<std::remove_const_t<T>>
void Group::reduce_scatter(Span<T> all, Span<std::remove_const_t<T>> mine, const Counts& counts) {
  expect_room("reduce_scatter", "mine", mine.size(), elements_of_rank(mine.size(), counts));
  expect_room("reduce_scatter", "all", all.size(), elements_of_all(mine.size(), counts));
  reduce_scatter_raw(all.data(), mine.data(), sizes(mine.size(), counts, 1), type_of<std::remove_const_t<T>>);
}
template <class T>
void Group::all_to_all(Span<T> out, const Counts& out_counts, Span<std::remove_const_t<T>> in, const Counts& in_counts) {
  expect_room("all_to_all", "out", out.size(), elements_of_all(0, out_counts));
  expect_room("all_to_all", "in", in.size(), elements_of_all(0, in_counts));
  all_to_all_raw(out.data(), sizes(0, out_counts, sizeof(T)), in.data(), sizes(0, in_counts, sizeof(T)));
}

template <class T, std::invocable Make> T& Group::shared(Make make, const std::string& name) {
  const auto erased = [&make]() -> std::shared_ptr<void> { return std::shared_ptr<T>(make()); };
  return *static_cast<T*>(shared_raw(std::string(typeid(T).name()) + '/' + name, erased));
}
template <class T> T& Group::shared(const std::string& name) {
  return shared<T>([] { return std::make_unique<T>(); }, name);
}

inline void Group::Peer::get(int window, std::size_t begin, Vec into) { group_.get_raw(rank_, window, begin, into); }
inline void Group::Peer::put(int window, std::size_t begin, ConstVec from) { group_.put_raw(rank_, window, begin, from); }
inline void Group::Peer::add(int window, std::size_t begin, ConstVec from) { group_.add_raw(rank_, window, begin, from); }

// A wrong number of counts is refused later.
inline std::size_t Group::elements_of_rank(std::size_t mine, const Counts& counts) const {
  return counts.size() == static_cast<std::size_t>(size()) ? counts[static_cast<std::size_t>(rank())] : mine;
}
inline std::size_t Group::elements_of_all(std::size_t mine, const Counts& counts) const {
  const auto ranks = static_cast<std::size_t>(size());
  if (counts.empty()) return mine * ranks;
  return counts.size() == ranks ? std::accumulate(counts.begin(), counts.end(), std::size_t{0}) : 0;
}
inline void Group::expect_room(const char* call, const char* vector, std::size_t has, std::size_t needed) {
  if (has < needed)
    throw Error(std::string(call) + ": the vector `" + vector + "` has " + std::to_string(has) + " elements, and the call needs " + std::to_string(needed));
}

inline Counts Group::sizes(std::size_t mine, const Counts& counts, std::size_t width) const {
  Counts scaled = counts.empty() ? Counts(static_cast<std::size_t>(size()), mine) : counts;
  for (std::size_t& count : scaled) count *= width;
  return scaled;
}

}  // namespace mgcompare
