#pragma once

// Runs trials in a worker process. Whatever happens to that process becomes the result of the trial. One worker runs many
// trials. It is started when first needed, and replaced after a trial that is not done.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "process/message.h"
#include "process/process.h"
#include "results/result.h"
#include "results/trial_progress.h"
#include "plan/trial.h"
#include "process/worker_log.h"

namespace mgcompare {

struct SupervisorSettings {
  std::vector<std::string> arguments = {"--worker"};  // of the worker process
  std::string log_file;                               // for the output of workers; empty: only the last lines are kept
  double seconds_without_progress = 120;              // a trial that reports no progress for so long is stopped
  double seconds_without_heartbeat = 30;
  double seconds_to_prepare = 0;                      // extra time of a new worker until its first progress report
  double seconds_to_stop = 2.5;                       // for a trial to stop by itself after an interruption
  double seconds_grace = 2;                           // between TERM and KILL
  std::function<bool()> interrupted = [] { return false; };
  int interruption_descriptor = -1;                   // readable once `interrupted` returns true
};

// How a request ended. `done`: the worker answered, and `body` is the answer.
struct Reply {
  TrialStatus status = TrialStatus::failed;
  std::string cause;
  nlohmann::json body;

  bool answered() const { return status == TrialStatus::done; }
  // "SIGSEGV in step 3 (crashed)", for messages.
  std::string failure() const;
};

// Called while a request is processed. Either may be empty.
struct Listener {
  std::function<void(const Progress&)> progress;
  std::function<void(const nlohmann::json&)> note;
};

class Supervisor {
 public:
  explicit Supervisor(SupervisorSettings settings);
  ~Supervisor();

  // Runs one trial. Always returns a Result, also if the worker fails.
  Result run(const Trial& trial, const TrialFiles& files, const std::function<void(const Progress&)>& report);
  // Sends one request to the worker. Unless it answers, the worker is ended. Each note restarts the time limit.
  Reply ask(const std::string& kind, const nlohmann::json& body, double limit_seconds, const Listener& listener = {});
  // Ends the worker gracefully. The next request starts another.
  void end_worker();

 private:
  using Clock = std::chrono::steady_clock;
  struct PendingRequest;
  bool start_worker();                // returns whether a new one was started
  void kill_worker(PendingRequest& request, TrialStatus status, const std::string& cause);
  void read_output();
  void read_channel(PendingRequest& request);
  void handle(PendingRequest& request, const Message& message);
  void on_exit(PendingRequest& request);
  void check_limits(PendingRequest& request);
  void wait_for_events(const PendingRequest& request);

  SupervisorSettings settings_;
  WorkerLog log_;
  std::unique_ptr<Process> worker_;
  std::unique_ptr<MessageReader> reader_;
  std::unique_ptr<MessageWriter> writer_;
  Clock::time_point started_;
  double seconds_start_ = 0;        // from fork to the worker's first message; charged to its first trial
};

}  // namespace mgcompare
