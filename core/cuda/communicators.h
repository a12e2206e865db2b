#pragma once

// NCCL communicators of this process, one per device. On several hosts they are those of a larger communicator, with as many devices on
// each host.

#include <nccl.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "mgcompare/types.h"
#include "platform/transport.h"

namespace mgcompare::cuda {

inline constexpr std::size_t kScratchBytes = 32u << 20;

// Created once for a list of devices and a number of hosts, and reused by later trials. Never destroyed while the process lives:
// ncclCommDestroy hangs while a captured graph holds collectives of the communicator.
struct Communicators {
  std::vector<int> devices;             // of this host
  std::size_t hosts = 1, host = 0;      // how many, and the number of this one
  std::vector<ncclComm_t> comms;
  std::vector<void*> scratch;           // kScratchBytes on each device
  std::vector<void*> window_memory;     // on each device: the vector registered as a window; empty without windows
  std::vector<ncclWindow_t> windows;

  // Opens all connections now: one that is opened later could deadlock with a kernel that waits for its peer. Every host calls it, with as
  // many devices. Throws Error.
  static std::unique_ptr<Communicators> make(const std::vector<int>& devices, const HostSpan& hosts = {});

  std::size_t ranks() const { return hosts * devices.size(); }
  std::size_t first() const { return host * devices.size(); }  // rank of devices[0]
  // Registers a vector of each device, all of the same length, as a symmetric window. All-reduces of its slices then access
  // the memory of other devices directly, which takes about three quarters of the time on fast links. Calls with a window on one
  // side only use copies. Does nothing if the vectors are already registered, as is usual for later trials. No rank may be running
  // work. On one host only. Throws Error.
  void register_windows(const std::vector<Vec>& vectors);

 private:
  void connect(const HostSpan& span);
  void open_connections() const;
};

}  // namespace mgcompare::cuda
