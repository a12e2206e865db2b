#include "measure/processor_time.h"

#include <algorithm>
#include <ctime>

#include "base/descendants.h"
#include "base/settings.h"

namespace mgcompare {
namespace {

double seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

double process_seconds() { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }
double thread_seconds() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }

void OtherThreads::prepare() { descendants_.begin = descendants_seconds(); }

void OtherThreads::begin(std::size_t rank) {
  ranks_[rank].begin = thread_seconds();
  if (rank != 0) return;
  process_.begin = process_seconds();
  is_complete_ = is_complete_ && counts_ended_children();
}

void OtherThreads::end(std::size_t rank) {
  ranks_[rank].end = thread_seconds();
  if (rank != 0) return;
  process_.end = process_seconds();
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
  return std::max(0.0, process_.end - process_.begin + descendants_.end - descendants_.begin - seconds_of_ranks());
}

}  // namespace mgcompare
