#pragma once

// A child process that runs this executable, in its own process group, with a socket to it and its output in a pipe. It gets
// HUP when this process ends. Start children from the main thread only: PR_SET_PDEATHSIG refers to the thread that forked.

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "process/child.h"
#include "process/shared_position.h"

namespace mgcompare {

// The descriptors of the socket and of the shared position in the child.
inline constexpr int kChannelDescriptor = 3, kPositionDescriptor = 4;

class Process {
 public:
  enum class Output { piped, inherited };
  // Runs this executable with `arguments`; `environment` is added to the inherited variables. Throws Error.
  Process(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment,
          Output output);
  ~Process();                       // kills the whole group if it is still running
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return id_; }
  int channel() const { return channel_.number(); }         // a stream socket
  int output() const { return output_.number(); }           // stdout and stderr, non-blocking; -1: inherited
  int exit_descriptor() const { return watch_.number(); }   // readable once the process has ended
  LivePosition& position() { return *position_; }           // written by the child

  // Waits for the process to end, kills the rest of its group and reaps it. Returns nothing after the time limit.
  std::optional<Ending> wait(std::chrono::milliseconds limit);
  void signal(int number);          // to the whole group
  // Sends TERM to the group, and KILL after `grace`.
  Ending stop(std::chrono::milliseconds grace);

 private:
  pid_t id_ = -1;
  Descriptor channel_, output_, watch_;
  SharedPosition position_;
  std::optional<Ending> ending_;
};

// Opens /dev/null for each of stdin, stdout and stderr that is closed, so that no other file gets its number. Writing to such a
// stdout fails.
void open_standard_streams();
// Throws Error if this process may have so few open files, or so small a stack, that it or a worker would fail without a message.
void require_limits();
// Makes this process the subreaper of the orphaned descendants of its children. Call it before the first child is started: those that
// this process has at the first call are not its own, and are left alone.
void adopt_orphans();
// Kills and reaps every other child of this process that no Process object owns, and their orphaned children.
void sweep_orphans();

}  // namespace mgcompare
