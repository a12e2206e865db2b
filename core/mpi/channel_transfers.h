#pragma once

// Transfers of many threads at once. One thread of this object asks the library about all of them, and the others sleep until theirs is
// complete. Two-sided on purpose: in Open MPI the one-sided calls over TCP need the target to call the library, spin in the caller, on the
// core of a rank and under the lock of the library, and cannot be released when a host is lost.

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "platform/transport.h"

namespace mgcompare {

class ChannelTransfers {
 public:
  // `library`: the lock of all calls to it. Must all outlive this object.
  ChannelTransfers(std::mutex& library, const std::atomic<bool>& aborted) : library_(library), aborted_(aborted) {}
  // Called before any transfer, on a thread that is not pinned to a core.
  void open(MPI_Comm comm);
  // See Transport::transfer().
  void transfer(int channel, const std::vector<Outgoing>& out, const std::vector<Incoming>& in);
  // No call may follow.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  struct Transfer {
    std::size_t left = 0;           // of its parts
    std::string problem;
    std::condition_variable changed;
  };
  struct Part {
    Transfer* of = nullptr;
    int bytes = 0;
    bool is_received = false;
  };

  void run();
  // The caller of these holds the lock.
  void post(Transfer& of, int channel, std::size_t host, void* data, std::size_t bytes, bool receives);
  void test();
  void forget(const Transfer& transfer);

  std::mutex& library_;
  const std::atomic<bool>& aborted_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<MPI_Request> requests_;
  std::vector<Part> parts_;         // of each request
  Clock::time_point last_event_;
  std::condition_variable posted_;
  bool is_stopped_ = false;
  std::thread thread_;
};

}  // namespace mgcompare
