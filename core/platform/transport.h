#pragma once

// Moves bytes between the hosts of a job: one process per host. core/mpi builds a module with one Transport, which the workers of a
// job over several hosts open. It knows nothing of ranks and training.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mgcompare {

// Memory that goes to another host, or is filled from there.
struct Outgoing {
  std::size_t host = 0;
  const void* data = nullptr;
  std::size_t bytes = 0;
};
struct Incoming {
  std::size_t host = 0;
  void* data = nullptr;
  std::size_t bytes = 0;
};

// A short text from another host.
struct HostMessage {
  std::size_t host = 0;
  std::string text;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // This host, from 0 to hosts() - 1. The runner is on host 0.
  virtual std::size_t host() const = 0;
  virtual std::size_t hosts() const = 0;
  // Name and version of the library, for the environment section of a report.
  virtual std::string version() const = 0;

  // Sends and receives at once, and sleeps until both are complete. The hosts name each other's parts in the same order and with the
  // same sizes. One thread at a time. Throws Aborted after abort(), and Error if the connection fails.
  virtual void exchange(const std::vector<Outgoing>& out, const std::vector<Incoming>& in) = 0;
  // The same on one of many channels, which are independent of exchange() and of each other. One thread at a time on each channel between
  // two hosts, so that any number of threads may wait here.
  virtual void transfer(int channel, const std::vector<Outgoing>& out, const std::vector<Incoming>& in) = 0;

  // Texts beside the data, also during an exchange. Any thread. send() returns when the text may be forgotten, or after two seconds.
  virtual void send(std::size_t host, std::string_view text) = 0;
  // The next text from any host; nothing if there is none now. One thread.
  virtual std::optional<HostMessage> receive() = 0;

  // Releases the threads in exchange() and transfer(), now and later, with Aborted. Any thread.
  virtual void abort() = 0;
  // Disconnects, when no host will send again. No call may follow.
  virtual void finish() = 0;
};

// The first `count` hosts of a job, as those of one trial.
struct HostSpan {
  Transport* transport = nullptr;   // null: this process alone
  std::size_t count = 1;
  std::size_t number = 0;           // of this host among them
};

// Every host of the span calls these, on one thread. They do nothing on one host.
// Copies `bytes` of host 0's memory to the others.
void broadcast(const HostSpan& hosts, void* data, std::size_t bytes);
// Replaces the text by that of host 0.
void broadcast(const HostSpan& hosts, std::string& text);
// Returns the texts of all hosts on host 0, in their order; an empty list on the others.
std::vector<std::string> gather(const HostSpan& hosts, const std::string& text);
// Returns when every host has called it.
void meet(const HostSpan& hosts);

}  // namespace mgcompare

// The symbol that the module exports. The first call connects the hosts, and waits for all of them. Throws Error.
extern "C" mgcompare::Transport* mgcompare_transport();
