#pragma once

// Runs trials in a worker process and turns whatever happens to that process into a row. One worker runs many trials; it
// is started when it is first needed, and ended by any trial that ends neither done nor diverged.

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
  std::vector<std::string> arguments = {"--worker"};  // make this program a worker
  std::string log_file;                               // what workers print; empty: only the last lines are kept
  double seconds_without_progress = 120;              // a trial that says nothing for so long hangs
  double seconds_without_heartbeat = 30;
  double seconds_to_prepare = 0;                      // what a fresh worker gets before its first sign of a request
  double seconds_to_stop = 2.5;                       // what a trial gets to end by itself after an interruption
  double seconds_grace = 2;                           // between TERM and KILL
  std::function<bool()> interrupted = [] { return false; };
  int interruption_descriptor = -1;                   // wakes a wait when `interrupted` becomes true
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

// What is told while a request is answered; either may be empty.
struct Listener {
  std::function<void(const Progress&)> progress;
  std::function<void(const nlohmann::json&)> note;
};

class Supervisor {
 public:
  explicit Supervisor(SupervisorSettings settings);
  ~Supervisor();

  // Never throws for what happens in the worker.
  Result run(const Trial& trial, const TrialFiles& files, const std::function<void(const Progress&)>& report);
  // One request to the worker; anything but an answer ends that worker. The limit is counted anew from each note.
  Reply ask(const std::string& kind, const nlohmann::json& body, double limit_seconds, const Listener& listener = {});
  // Ends the worker in good order; the next request starts another.
  void end_worker();

 private:
  using Clock = std::chrono::steady_clock;
  struct Exchange;
  bool start_worker();                // whether there was none
  void kill_worker(Exchange& exchange, TrialStatus status, const std::string& cause);
  void read_output();
  void read_channel(Exchange& exchange);
  void take(Exchange& exchange, const Message& message);
  void on_exit(Exchange& exchange);
  void check_limits(Exchange& exchange);
  void wait_for_events(const Exchange& exchange);

  SupervisorSettings settings_;
  WorkerLog log_;
  std::unique_ptr<Process> worker_;
  std::unique_ptr<MessageReader> reader_;
  std::unique_ptr<MessageWriter> writer_;
  Clock::time_point started_;
  double seconds_start_ = 0;        // from fork to the worker's first message, until a trial has taken it
};

}  // namespace mgcompare
