#pragma once

// A child that is this program again, in a process group of its own, with a channel to it and its output in a pipe.
// Children are started from the main thread only: the kernel ties a child's life to the thread that forked it.

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mgcompare {

// A file descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }
  int number() const { return number_; }
  int release();
  void close();

 private:
  int number_;
};

// How a process ended.
struct Ending {
  int signal = 0;                   // 0: it ended by itself
  int code = 0;                     // its exit code when it did
  std::string text() const;         // "SIGSEGV", "exit code 3"
};

// The descriptor under which a child finds its channel.
inline constexpr int kChannelDescriptor = 3;

class Process {
 public:
  enum class Output { piped, inherited };
  // Runs this executable with `arguments` and, beside the inherited ones, `environment`. Throws Error.
  Process(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment,
          Output output);
  ~Process();                       // kills the whole group where it still lives
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return id_; }
  int channel() const { return channel_.number(); }         // a stream socket
  int output() const { return output_.number(); }           // stdout and stderr, not blocking; -1 when inherited
  int exit_descriptor() const { return watch_.number(); }   // readable once the process has ended

  // Waits for the end and reaps; what is left of the group is killed first. Nothing when time runs out.
  std::optional<Ending> wait(std::chrono::milliseconds limit);
  void signal(int number);          // to the whole group
  // TERM to the group, KILL after `grace`.
  Ending stop(std::chrono::milliseconds grace);

 private:
  pid_t id_ = -1;
  Descriptor channel_, output_, watch_;
  std::optional<Ending> ending_;
};

// Opens /dev/null as each of stdin, stdout and stderr that the parent closed: no other file may get its number.
void open_standard_streams();
// Makes this process the parent of everything its children leave behind.
void adopt_orphans();
// Kills and reaps every child of this process that no Process object owns, and what these leave behind.
void sweep_orphans();
// Kills the group of every live Process. May be called in a signal handler.
void kill_children() noexcept;

}  // namespace mgcompare
