#pragma once

// The worker's side: a process that handles the runner's requests one after another until the runner ends. One thread reads
// the channel, another sends a heartbeat every second, so that a request may take any time.

#include <functional>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "results/live_position.h"
#include "results/trial_progress.h"

namespace mgcompare {

// What a handler may use while it processes a request.
class RequestContext {
 public:
  virtual ~RequestContext() = default;
  virtual void report(const Progress& progress) = 0;  // any thread
  virtual void note(const nlohmann::json& note) = 0;  // to the runner; restarts its time limits; any thread
  virtual bool stopping() const = 0;                  // whether the runner asked to stop; any thread
  virtual LivePosition& position() = 0;               // the runner reads it if this process crashes
  // Answers the request and ends the process without waiting for its other threads.
  [[noreturn]] virtual void leave(const nlohmann::json& answer) = 0;
};

// The field in the answer to "trial" that says what the trial left behind in the worker; absent if nothing.
inline constexpr char kLeftBehind[] = "left_behind";

// The field in the answer to "trial" with the names of hosts that no longer answer; absent if none.
inline constexpr char kLostHosts[] = "lost_hosts";

using Handler = std::function<nlohmann::json(const nlohmann::json& body, RequestContext& context)>;
using Handlers = std::map<std::string, Handler>;      // by the kind of the request

// From now on exit() in any thread ends this process without destroying static objects.
void exit_at_once();

// Starts a guardian, then serves the channel at kChannelDescriptor. Exceptions of a handler are sent as "failed", "out of memory" or
// "interrupted". `prepare` is called before the first message. Returns after the request "end". If the runner dies, this process and its
// descendants are killed. Calls exit_at_once().
int serve(const Handlers& handlers, const std::function<void()>& prepare = {});

}  // namespace mgcompare
