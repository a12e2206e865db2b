#pragma once

// Runs trials in a worker process. Whatever happens to that process becomes the result of the trial. One worker runs many
// trials. It is started when first needed, and replaced after a trial that is not done or that left something in it.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/temporary_folder.h"
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
  double seconds_without_progress = 120;              // a request that reports no progress for so long is stopped; or its own limit
  double seconds_without_heartbeat = 30;
  double seconds_to_prepare = 0;                      // extra time of a new worker until its first progress report
  double seconds_to_stop = 2.5;                       // for a trial to stop by itself after an interruption
  double seconds_grace = 2;                           // between TERM and KILL
  std::string kernel_counters = "/proc/vmstat";       // with the number of processes killed for lack of memory
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
  // Throws Error, "interrupted before the first trial", if the user stopped the program.
  void throw_if_interrupted() const;
  // The answer. Otherwise throws Error: that of throw_if_interrupted(); the cause if the request failed, which is a whole sentence; else
  // "WHAT: how the worker ended; ADVICE".
  const nlohmann::json& require(const std::string& what, const std::string& advice) const;
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

  // Runs one trial. Always returns a Result, also if the worker fails. If the trial fails in a worker that has run other
  // plugins, one of them may have damaged the worker: the trial is repeated once in a new one, with a note in its result.
  Result run(const Trial& trial, const TrialFiles& files, const std::function<void(const Progress&)>& report);
  // What the user should know about the workers of the trials since the last call: the notes that run() added.
  std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }
  // The hosts that the trials since the last call have lost.
  std::vector<std::string> take_lost_hosts() { return std::exchange(lost_hosts_, {}); }
  // Sends one request to the worker. Unless it answers, the worker is ended, a moment after the user interrupts. Each note
  // restarts the time limit. `progress_seconds`: its limit without progress after its data are loaded.
  Reply ask(const std::string& kind, const nlohmann::json& body, double limit_seconds, const Listener& listener = {},
            std::optional<double> progress_seconds = {});
  // Ends the worker gracefully. The next request starts another.
  void end_worker();

 private:
  using Clock = std::chrono::steady_clock;
  struct PendingRequest;
  // `stops`: the request ends by itself when it is told to stop.
  Reply wait_for_reply(const std::string& kind, const nlohmann::json& body, double limit_seconds, const Listener& listener,
                       std::optional<double> progress_seconds, bool stops);
  double seconds_without_progress(const PendingRequest& request) const;
  bool start_worker();                // returns whether a new one was started
  Result run_once(const Trial& trial, const TrialFiles& files, const std::function<void(const Progress&)>& report);
  void warn(const Trial& trial, Result& result, const std::string& text);
  std::vector<std::string> users_besides(const Trial& trial) const;
  // Whether the worker has run a plugin with a library of its own that has the name of one of this trial's plugin.
  bool is_confused_with_users(const Trial& trial);
  bool memory_ran_out() const;
  void kill_worker(PendingRequest& request, TrialStatus status, const std::string& cause);
  void read_output();
  void read_channel(PendingRequest& request);
  void handle(PendingRequest& request, const Message& message);
  void on_exit(PendingRequest& request);
  void check_limits(PendingRequest& request);
  void wait_for_events(const PendingRequest& request);

  SupervisorSettings settings_;
  std::optional<TemporaryFolder> scratch_;  // for the files of backends; no worker could remove it after it was killed
  WorkerLog log_;
  std::unique_ptr<Process> worker_;
  std::unique_ptr<MessageReader> reader_;
  std::unique_ptr<MessageWriter> writer_;
  Clock::time_point started_;
  double seconds_start_ = 0;        // from fork to the worker's first message; charged to its first trial
  std::map<std::string, std::string> users_;      // labels of the strategies that the worker has run, by plugin file
  std::map<std::string, std::set<std::string>> libraries_;  // private ones, by plugin file
  std::vector<std::string> warnings_, lost_hosts_;
  std::optional<std::uint64_t> kills_at_start_;   // for lack of memory, in kernel_counters
};

}  // namespace mgcompare
