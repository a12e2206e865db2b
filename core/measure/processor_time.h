#pragma once

// Processor time, and how much of it is not the ranks': that of other threads and of processes that were started. A strategy
// with threads or processes of its own uses processors that its row does not count as devices.

#include <sys/types.h>

#include <cstddef>
#include <vector>

namespace mgcompare {

double process_seconds();  // of all threads of this process, ended ones included
double thread_seconds();   // of the calling thread

// Threads that connect devices or hosts, such as those of MPI and NCCL, and the one that draws the orders of samples: OtherThreads
// does not count them. All that exist now, which must not be a plugin's and should live until the process ends; those that begin
// while an object lives, when no plugin may run; and one that registers itself while it lives.
void register_service_threads();
class NewServiceThreads {
 public:
  NewServiceThreads();
  ~NewServiceThreads();
  NewServiceThreads(const NewServiceThreads&) = delete;
  NewServiceThreads& operator=(const NewServiceThreads&) = delete;

 private:
  std::vector<pid_t> before_;
};
class ServiceThread {
 public:
  ServiceThread();
  ~ServiceThread();
  ServiceThread(const ServiceThread&) = delete;
  ServiceThread& operator=(const ServiceThread&) = delete;
};
double service_seconds();  // of all of them, ended ones included

// From begin() to end(), which every rank calls on its own thread: begin() right after a rendezvous of the ranks, end() right
// after one and before another. The registered threads above are not included.
class OtherThreads {
 public:
  explicit OtherThreads(std::size_t ranks) : ranks_(ranks) {}
  // Looks for processes, which takes some 0.1 ms. Called by rank 0 before the rendezvous that begin() follows.
  void prepare();
  void begin(std::size_t rank);
  void end(std::size_t rank);
  // Call both after the rendezvous that follows end().
  double seconds() const;
  double seconds_of_ranks() const;
  // Whether the kernel counted the time of processes that ended, at each begin() and end().
  bool is_complete() const { return is_complete_; }

 private:
  struct Used {
    double begin = 0, end = 0;
  };
  std::vector<Used> ranks_;
  Used process_, descendants_, services_;  // written by rank 0
  bool is_complete_ = true;                // likewise
};

}  // namespace mgcompare
