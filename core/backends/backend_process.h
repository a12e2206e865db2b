#pragma once

// A backend that runs: a child of the worker, in its process group, with descriptor 3 for requests and 4 for answers. Nothing that
// it started outlives this object. For workers only, whose guardian adopts orphans (process/guardian.h).

#include <sched.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "backends/messages.h"
#include "base/descriptor.h"
#include "discovery/manifest.h"

namespace mgcompare {

class WorkerLog;

struct BackendPlace {
  std::string python;               // the interpreter; empty: the first python3 on PATH
  std::string folder;               // in which the program starts
  std::optional<cpu_set_t> processors = {};  // on which it and its processes may run; nothing: those of this thread
};

class BackendProcess {
 public:
  // Starts the program. Throws EndedAs with `unavailable` if there is no interpreter, and Error if no process can be started.
  BackendProcess(const Manifest& manifest, const BackendPlace& place);
  ~BackendProcess();
  BackendProcess(const BackendProcess&) = delete;
  BackendProcess& operator=(const BackendProcess&) = delete;

  // Sends one request. Its answers must have its id.
  void send(const nlohmann::json& request);

  // What receive() does besides. Either may be empty.
  struct Waiting {
    double seconds = 0;             // at most; 0: any time
    std::function<void()> tick;     // called some times each second; may throw
  };
  // The next answer, which must have this type. Throws what an answer of type "error" says, EndedAs with `crashed` or `failed` if the
  // program ends, with `timeout` if it takes longer, and Error if it sends anything else. Errors are whole sentences.
  nlohmann::json receive(std::string_view type, const Waiting& waiting);
  // The time at which the last answer came (base/clock.h).
  double received() const { return received_; }

  // After the last answer: ends the requests, and waits until the program and all processes that it has started have ended. Throws
  // Error if some have not within the time.
  void finish(double seconds);

  // Processor time of the program and its processes so far.
  double processor_seconds() const;

 private:
  void start(const std::vector<std::string>& arguments, const BackendPlace& place);
  // Waits for output, answers or the end.
  void wait(int milliseconds);
  void read_log();
  enum class Incoming { bytes, nothing, end };
  Incoming read_answers();
  std::vector<pid_t> own_descendants() const;
  void end_all() noexcept;
  void reap();                      // sets status_ if the program has ended
  [[noreturn]] void throw_ended();
  std::string with_last_words(const std::string& sentence);

  std::string name_;
  std::vector<pid_t> others_;       // descendants that were there before
  double seconds_before_ = 0;
  std::optional<std::uint64_t> kills_before_;
  Descriptor requests_, answers_, output_, watch_;
  pid_t id_ = -1;
  std::optional<int> status_;       // of waitpid(), when it has ended
  int request_ = 0;                 // the id of the last request
  BackendReader reader_;
  std::unique_ptr<WorkerLog> log_;  // its last lines
  double received_ = 0;
};

// The environment variables with which this process began, as NAME=value; none if they cannot be read.
std::vector<std::string> variables_at_start();

// The environment variables that a backend gets, likewise: those of this process and some more. Those of NCCL are those of `at_start`, unless this is
// empty: the process changes them for its own strategies, which it may have trained before. `module_folder`: of the Python module for backends;
// empty: there is none.
std::vector<std::string> backend_environment(const std::string& module_folder, const std::vector<std::string>& at_start);

// The path of the interpreter that `python:` names or, if it is empty, of the first python3 on PATH. Throws EndedAs with `unavailable`.
std::string interpreter(const std::string& python);

}  // namespace mgcompare
