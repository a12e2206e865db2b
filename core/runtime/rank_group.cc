#include "runtime/rank_group.h"

#include <cxxabi.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <cstdlib>
#include <numeric>
#include <string_view>

#include "results/cause.h"
#include "runtime/host_service.h"

namespace mgcompare {
namespace {

double total(const Counts& counts) {
  return static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
}

// Allocated on the heap of this process.
std::uint64_t heap_bytes() {
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

// "Servers", or "Servers 'left'", from the mangled name of the type and the object's name.
std::string readable(const std::string& key) {
  const std::size_t slash = key.find('/');
  const std::string mangled = key.substr(0, slash), name = key.substr(slash + 1);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> type(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  std::string text = type ? type.get() : mangled;
  constexpr std::string_view kLocal = "(anonymous namespace)::";
  for (std::size_t at = text.find(kLocal); at != std::string::npos; at = text.find(kLocal)) text.erase(at, kLocal.size());
  return name.empty() ? text : text + " '" + name + "'";
}

// The stripe under which free-running ranks draw samples. The stripes of strategies are small numbers.
constexpr std::size_t kDrawStripe = static_cast<std::size_t>(-1);

// Whether this thread runs the function of an exclusive section.
thread_local bool in_section = false;

struct SectionScope {
  SectionScope() { in_section = true; }
  ~SectionScope() { in_section = false; }
};

[[noreturn]] void refuse_rehearsal(const std::string& why) {
  throw EndedAs(TrialStatus::unavailable, why + ", and in a rehearsal there are none");
}

// Sizes that the other ranks have told, in memory that they have not written in a rehearsal: none of them seems to send anything.
void expect_told_sizes(const char* verb, const Counts& bytes, int rank) {
  const auto own = static_cast<std::size_t>(rank);
  std::size_t others = 0;
  for (std::size_t other = 0; other < bytes.size(); ++other) others += other == own ? 0 : bytes[other];
  if (bytes.size() > 1 && bytes[own] > 0 && others == 0) refuse_rehearsal(std::string(verb) + "() needs sizes that other ranks tell");
}

// Within a section of this thread, both would wait for its own end.
void expect_no_section(const char* verb) {
  if (in_section) throw Error(std::string(verb) + " was called within exclusive(): the function of a section may only call peer()");
}

}  // namespace

CommContext::CommContext(Collectives& collectives, const RankSpan& span, std::unique_ptr<AsyncScheduler> scheduler, const HostSpan& hosts,
                         int first_channel)
    : collectives_(collectives), span_(span), scheduler_(std::move(scheduler)), barrier_(span.here), windows_(span.all) {
  if (hosts.count == 1) return;
  access_ = std::make_unique<HostAccess>(hosts, span, first_channel);
  if (hosts.number > 0) scheduler_ = distant_scheduler(*access_, scheduler_->has_clocks());
  service_ = std::make_unique<HostService>(*this, *access_);
}

CommContext::~CommContext() {
  if (access_ == nullptr) return;
  try {
    for (std::size_t rank = 0; rank < span_.here; ++rank) access_->end(span_.first + rank);
  } catch (const std::exception&) {
    abort();                        // the service, too, would wait for ever
  }
  service_.reset();
}

Vec CommContext::window(std::size_t rank, std::size_t number) const {
  const std::lock_guard lock(mutex_);
  return windows_.at(rank).at(number);
}

SampleDraw CommContext::draw(std::size_t rank, std::size_t most, std::size_t samples) {
  if (access_ != nullptr && access_->hosts().number > 0)
    return access_->ask(rank, {.kind = AccessRequest::Kind::draw, .number = most, .size = samples}).draw;
  SampleDraw draw;
  scheduler_->exclusive(rank, kDrawStripe, [&] { draw = draws_.next(most, samples); });
  return draw;
}

std::vector<Kept> CommContext::release_shared_objects() {
  const std::lock_guard lock(mutex_);
  std::vector<Kept> all;
  for (auto& [key, object] : objects_) {
    const std::uint64_t before = heap_bytes();
    object.reset();
    const std::uint64_t after = heap_bytes();
    all.push_back({readable(key), "host", before - std::min(before, after)});
  }
  objects_.clear();
  return all;
}

template <class Work> void CommContext::meet_all(std::size_t rank, Work between_hosts) {
  barrier_.wait();
  if (access_ == nullptr) return;
  if (rank == span_.first) between_hosts();
  barrier_.wait();
}

void CommContext::exchange_sizes(std::size_t window) {
  std::vector<std::uint64_t> here;
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t rank = 0; rank < span_.here; ++rank) here.push_back(windows_[span_.first + rank].at(window).size());
  }
  std::string sizes;
  for (const std::string& of_host : gather(access_->hosts(), std::string(reinterpret_cast<const char*>(here.data()), here.size() * sizeof(here[0]))))
    sizes += of_host;
  broadcast(access_->hosts(), sizes);
  std::vector<std::uint64_t> all(ranks());
  if (sizes.size() != all.size() * sizeof(all[0])) throw Error("expose: the hosts have different numbers of ranks");
  std::memcpy(all.data(), sizes.data(), sizes.size());
  const std::lock_guard lock(mutex_);
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (!is_here(rank)) windows_[rank].push_back(Vec(nullptr, all[rank]));
}

void CommContext::abort() {
  {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
  }
  made_.notify_all();
  barrier_.abort();
  // The services of the other hosts then abort their ranks.
  if (access_ != nullptr) access_->hosts().transport->abort();
  // Before the scheduler: a section that waits for another host may hold its lock.
  collectives_.abort();
  scheduler_->abort();
}

template <class Call> void RankGroup::move_data(Phase phase, const char* name, double bytes, double payload, Call call) {
  if (phase == Phase::exchange) expect_meeting(name);
  ++calls_;
  StepClock::PhaseScope in(phase, name, false, {name, bytes, payload});
  if (context_.is_on_one_host()) ledger_.add(name, bytes, payload);
  in.began_with(Phase::waiting, call());
  if (!context_.is_on_one_host()) bytes = count_traffic(name);
  remainder_ += bytes;
  const double whole = std::floor(remainder_ + 1e-6);
  bytes_ += static_cast<std::uint64_t>(whole);
  remainder_ -= whole;
}

double RankGroup::count_traffic(const char* name) {
  const Collectives::Traffic traffic = context_.collectives_.traffic(rank());
  if (traffic.within_host > 0) ledger_.add(name, traffic.within_host);
  if (traffic.between_hosts > 0) host_ledger_.add(name, traffic.between_hosts);
  return traffic.within_host + traffic.between_hosts;
}

void RankGroup::expect_meeting(const char* verb) const {
  if (no_collectives_)
    throw Error(std::string(verb) + ": ranks at free pace make different numbers of steps, so that not all may arrive; use "
                                    "exclusive(), wait_until(), get, put and add in step() and rest(), or be in lockstep");
}

void RankGroup::check(const char* verb, const Counts& counts, int root) const {
  if (counts.size() != context_.ranks())
    throw Error(std::string(verb) + ": " + std::to_string(counts.size()) + " counts given for " +
                std::to_string(context_.ranks()) + " ranks; give one for each rank, or none");
  if (root < 0 || root >= size())
    throw Error(std::string(verb) + ": there is no rank " + std::to_string(root) + "; ranks are 0 to " + std::to_string(size() - 1));
}

void RankGroup::barrier() {
  expect_meeting("barrier");
  ++calls_;
  const StepClock::PhaseScope in(Phase::waiting, "barrier");
  context_.meet_all(rank_, [&] { meet(context_.access_->hosts()); });
}

void RankGroup::exclusive(std::size_t stripe, const std::function<void()>& f) {
  expect_no_section("exclusive()");
  const StepClock::PhaseScope in(Phase::waiting, "exclusive");
  ++calls_;
  ++exclusive_sections_;
  context_.scheduler().exclusive(rank_, stripe, [&] {
    const StepClock::PhaseScope inside(Phase::strategy);
    const SectionScope section;
    f();
  });
}

void RankGroup::wait_until(const std::function<bool()>& predicate) {
  expect_no_section("wait_until()");
  const StepClock::PhaseScope in(Phase::waiting, "wait_until");
  if (context_.is_rehearsal() && !predicate()) refuse_rehearsal("wait_until() waits for other ranks");
  context_.scheduler().wait_until(rank_, predicate);
}

void RankGroup::all_reduce_raw(void* data, std::size_t n, Type type) {
  const double ranks = size();
  const auto all = static_cast<double>(n * size_of(type));
  move_data(Phase::exchange, "all_reduce", 2 * (ranks - 1) / ranks * all, all,
            [&] { return size() == 1 ? 0.0 : context_.collectives_.all_reduce(rank(), data, n, type); });
}

void RankGroup::reduce_raw(void* data, std::size_t n, Type type, int root) {
  check("reduce", Counts(context_.ranks()), root);
  const auto all = static_cast<double>(n * size_of(type));
  move_data(Phase::exchange, "reduce", rank() == root ? 0.0 : all, all,
            [&] { return size() == 1 ? 0.0 : context_.collectives_.reduce(rank(), data, n, type, root); });
}

void RankGroup::broadcast_raw(void* data, std::size_t bytes, int root) {
  check("broadcast", Counts(context_.ranks()), root);
  const auto all = static_cast<double>(bytes);
  move_data(Phase::exchange, "broadcast", rank() == root ? all * (size() - 1) : 0.0, all,
            [&] { return size() == 1 ? 0.0 : context_.collectives_.broadcast(rank(), data, bytes, root); });
}

void RankGroup::gather_raw(const void* mine, void* all, const Counts& bytes, int root) {
  check("gather", bytes, root);
  if (context_.is_rehearsal()) expect_told_sizes("gather", bytes, rank());
  move_data(Phase::exchange, "gather", rank() == root ? 0.0 : static_cast<double>(bytes[rank_]), total(bytes),
            [&] { return context_.collectives_.gather(rank(), mine, all, bytes, root); });
}

void RankGroup::scatter_raw(const void* all, void* mine, const Counts& bytes, int root) {
  check("scatter", bytes, root);
  move_data(Phase::exchange, "scatter", rank() == root ? total(bytes) - static_cast<double>(bytes[rank_]) : 0.0, total(bytes),
            [&] { return context_.collectives_.scatter(rank(), all, mine, bytes, root); });
}

void RankGroup::all_gather_raw(const void* mine, void* all, const Counts& bytes) {
  check("all_gather", bytes);
  if (context_.is_rehearsal()) expect_told_sizes("all_gather", bytes, rank());
  const double ranks = size();
  move_data(Phase::exchange, "all_gather", (ranks - 1) / ranks * total(bytes), total(bytes),
            [&] { return context_.collectives_.all_gather(rank(), mine, all, bytes); });
}

void RankGroup::reduce_scatter_raw(const void* all, void* mine, const Counts& counts, Type type) {
  check("reduce_scatter", counts);
  const double ranks = size();
  const double payload = total(counts) * static_cast<double>(size_of(type));
  move_data(Phase::exchange, "reduce_scatter", (ranks - 1) / ranks * payload, payload,
            [&] { return context_.collectives_.reduce_scatter(rank(), all, mine, counts, type); });
}

void RankGroup::all_to_all_raw(const void* out, const Counts& out_bytes, void* in, const Counts& in_bytes) {
  check("all_to_all", out_bytes);
  check("all_to_all", in_bytes);
  if (context_.is_rehearsal()) expect_told_sizes("all_to_all", in_bytes, rank());
  move_data(Phase::exchange, "all_to_all", total(out_bytes) - static_cast<double>(out_bytes[rank_]), std::max(total(out_bytes), total(in_bytes)),
            [&] { return context_.collectives_.all_to_all(rank(), out, out_bytes, in, in_bytes); });
}

void* RankGroup::shared_raw(const std::string& key, const std::function<std::shared_ptr<void>()>& make) {
  // The parts that other ranks put there would be missing.
  if (context_.is_rehearsal()) refuse_rehearsal("shared() is an object of all ranks");
  std::unique_lock lock(context_.mutex_);
  if (rank_ != context_.span_.first) {
    const StepClock::PhaseScope in(Phase::waiting, "shared");
    context_.made_.wait(lock, [&] { return context_.aborted_ || context_.objects_.contains(key); });
    if (context_.aborted_) throw Aborted();
    return context_.objects_.at(key).get();
  }
  const auto known = context_.objects_.find(key);
  if (known != context_.objects_.end()) return known->second.get();
  lock.unlock();  // make() may call the group
  std::shared_ptr<void> made = make();
  void* const object = made.get();
  lock.lock();
  context_.objects_.emplace(key, std::move(made));
  context_.made_.notify_all();
  return object;
}

int RankGroup::expose(Vec memory) {
  {
    const std::lock_guard lock(context_.mutex_);
    context_.windows_[rank_].push_back(memory);
  }
  const std::size_t number = context_.windows_[rank_].size() - 1;
  expect_meeting("expose");
  ++calls_;
  const StepClock::PhaseScope in(Phase::waiting, "expose");
  context_.meet_all(rank_, [&] { context_.exchange_sizes(number); });
  return static_cast<int>(number);
}

Vec RankGroup::staged(std::size_t size) {
  if (staging_.size() < size) staging_ = host_array<float>(*device_, size);
  return Vec(staging_.data(), size);
}

ConstVec RankGroup::on_host(ConstVec from) {
  if (device_ == nullptr) return from;
  const Vec copied = staged(from.size());
  copy_to_host(*device_, copied, from);
  device_->synchronize();
  return copied;
}

std::uint64_t RankGroup::exposed_bytes() const {
  const std::lock_guard lock(context_.mutex_);
  std::uint64_t bytes = 0;
  for (const Vec window : context_.windows_[rank_]) bytes += window.bytes();
  return bytes;
}

float* RankGroup::window(int rank, int number, std::size_t begin, std::size_t n) const {
  if (rank < 0 || rank >= size()) throw Error("peer: there is no rank " + std::to_string(rank));
  if (context_.is_rehearsal() && rank != this->rank()) refuse_rehearsal("peer() reaches memory of other ranks");
  const std::lock_guard lock(context_.mutex_);
  const std::vector<Vec>& windows = context_.windows_[static_cast<std::size_t>(rank)];
  if (number < 0 || static_cast<std::size_t>(number) >= windows.size())
    throw Error("peer: rank " + std::to_string(rank) + " has no window " + std::to_string(number));
  const Vec memory = windows[static_cast<std::size_t>(number)];
  if (begin > memory.size() || n > memory.size() - begin)
    throw Error("peer: elements " + std::to_string(begin) + " to " + std::to_string(begin + n) + " are outside of the window, which has " +
                std::to_string(memory.size()));
  return memory.data() == nullptr ? nullptr : memory.data() + begin;
}

template <class Call> void RankGroup::access(const char* name, int peer, std::size_t bytes, Call call) {
  ++calls_;
  const StepClock::PhaseScope in(Phase::transfer, name);
  const std::uint64_t sent = peer == rank() ? 0 : bytes;
  (context_.is_here(static_cast<std::size_t>(peer)) ? ledger_ : host_ledger_).add(name, static_cast<double>(sent));
  call();
  bytes_ += sent;
}

void RankGroup::get_raw(int rank, int number, std::size_t begin, Vec into) {
  float* const from = window(rank, number, begin, into.size());
  access("get", rank, into.bytes(), [&] {
    const auto peer = static_cast<std::size_t>(rank);
    if (context_.is_here(peer)) return context_.collectives_.get(this->rank(), rank, from, into);
    if (device_ == nullptr) return context_.access_->get(rank_, peer, number, begin, into);
    const Vec arrived = staged(into.size());
    context_.access_->get(rank_, peer, number, begin, arrived);
    copy_to_device(*device_, into, arrived);
    device_->synchronize();         // the next call may use the same memory
  });
}

void RankGroup::put_raw(int rank, int number, std::size_t begin, ConstVec from) {
  float* const to = window(rank, number, begin, from.size());
  access("put", rank, from.bytes(), [&] {
    const auto peer = static_cast<std::size_t>(rank);
    if (context_.is_here(peer)) return context_.collectives_.put(this->rank(), rank, to, from);
    context_.access_->put(rank_, peer, number, begin, on_host(from));
  });
}

void RankGroup::add_raw(int rank, int number, std::size_t begin, ConstVec from) {
  float* const to = window(rank, number, begin, from.size());
  access("add", rank, from.bytes(), [&] {
    const auto peer = static_cast<std::size_t>(rank);
    if (context_.is_here(peer)) return context_.collectives_.add(this->rank(), rank, to, from);
    context_.access_->add(rank_, peer, number, begin, on_host(from));
  });
}

}  // namespace mgcompare
