#include "measure/processor_time.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/descendants.h"
#include "base/settings.h"

namespace mgcompare {
namespace {

double seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The kernel's number for the clock of a thread of this process.
clockid_t clock_of(pid_t thread) {
  constexpr unsigned kOfThread = 4, kScheduled = 2;
  return static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | kOfThread | kScheduled);
}

class ServiceThreads {
 public:
  void add(pid_t thread) {
    const std::lock_guard lock(mutex_);
    seconds_.try_emplace(thread, 0);
  }

  void end(pid_t thread) {
    const std::lock_guard lock(mutex_);
    const auto found = seconds_.find(thread);
    if (found == seconds_.end()) return;
    ended_ += seconds_now(thread).value_or(found->second);
    seconds_.erase(found);
  }

  double seconds() {
    const std::lock_guard lock(mutex_);
    double sum = 0;
    for (auto at = seconds_.begin(); at != seconds_.end();) {
      const std::optional<double> now = seconds_now(at->first);
      if (now) sum += at->second = *now;
      else ended_ += at->second;
      at = now ? std::next(at) : seconds_.erase(at);
    }
    return sum + ended_;
  }

 private:
  static std::optional<double> seconds_now(pid_t thread) {
    timespec time{};
    if (clock_gettime(clock_of(thread), &time) != 0) return std::nullopt;
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  std::mutex mutex_;
  std::map<pid_t, double> seconds_;  // of those that live, when they were last asked
  double ended_ = 0;
};

ServiceThreads& service_threads() {
  // Never destroyed: its threads may outlive main().
  static ServiceThreads& threads = *new ServiceThreads;
  return threads;
}

// Of this process, sorted.
std::vector<pid_t> all_threads() {
  std::vector<pid_t> threads;
  std::error_code failure;  // a thread may end while its folder is read
  for (std::filesystem::directory_iterator entry("/proc/self/task", failure), end; !failure && entry != end; entry.increment(failure)) {
    const std::string name = entry->path().filename();
    pid_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (thread > 0) threads.push_back(thread);
  }
  std::sort(threads.begin(), threads.end());
  return threads;
}

}  // namespace

void register_service_threads() {
  for (const pid_t thread : all_threads()) service_threads().add(thread);
}

NewServiceThreads::NewServiceThreads() : before_(all_threads()) {}
NewServiceThreads::~NewServiceThreads() {
  if (before_.empty()) return;  // they could not be read, so none can be told from the older ones
  for (const pid_t thread : all_threads())
    if (!std::binary_search(before_.begin(), before_.end(), thread)) service_threads().add(thread);
}

ServiceThread::ServiceThread() { service_threads().add(gettid()); }
ServiceThread::~ServiceThread() { service_threads().end(gettid()); }

double service_seconds() { return service_threads().seconds(); }

double process_seconds() { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }
double thread_seconds() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }

void OtherThreads::prepare() { descendants_.begin = descendants_seconds(); }

void OtherThreads::begin(std::size_t rank) {
  ranks_[rank].begin = thread_seconds();
  if (rank != 0) return;
  process_.begin = process_seconds();
  services_.begin = service_seconds();
  is_complete_ = is_complete_ && counts_ended_children();
}

void OtherThreads::end(std::size_t rank) {
  ranks_[rank].end = thread_seconds();
  if (rank != 0) return;
  process_.end = process_seconds();
  services_.end = service_seconds();
  descendants_.end = descendants_seconds();
  is_complete_ = is_complete_ && counts_ended_children();
}

double OtherThreads::seconds_of_ranks() const {
  double seconds = 0;
  for (const Used& rank : ranks_) seconds += rank.end - rank.begin;
  return seconds;
}

// The ranks do not read their clocks at the same moment, so the difference can be slightly negative.
double OtherThreads::seconds() const {
  const double own = seconds_of_ranks() + services_.end - services_.begin;
  return std::max(0.0, process_.end - process_.begin + descendants_.end - descendants_.begin - own);
}

}  // namespace mgcompare
