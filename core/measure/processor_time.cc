#include "measure/processor_time.h"

#include <algorithm>
#include <ctime>

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

void OtherThreads::begin(std::size_t rank) {
  ranks_[rank].begin = thread_seconds();
  if (rank == 0) process_.begin = process_seconds();
}

void OtherThreads::end(std::size_t rank) {
  ranks_[rank].end = thread_seconds();
  if (rank == 0) process_.end = process_seconds();
}

double OtherThreads::seconds_of_ranks() const {
  double seconds = 0;
  for (const Used& rank : ranks_) seconds += rank.end - rank.begin;
  return seconds;
}

// The ranks do not read their clocks at the same moment, so the difference can be slightly negative.
double OtherThreads::seconds() const {
  return std::max(0.0, process_.end - process_.begin - seconds_of_ranks());
}

}  // namespace mgcompare
