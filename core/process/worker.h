#pragma once

// The worker's side: a process that answers the runner's requests one after another until the runner goes away. A thread
// of its own reads the channel, another says every second that the process lives, so that a request may take its time.

#include <functional>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "results/trial_progress.h"

namespace mgcompare {

// What a request may use while it is answered.
class RequestContext {
 public:
  virtual ~RequestContext() = default;
  virtual void report(const Progress& progress) = 0;  // any thread
  virtual void note(const nlohmann::json& note) = 0;  // for the runner's own use: a sign of life too; any thread
  virtual bool stopping() const = 0;                  // the runner asked for an early end; any thread
  // Answers, and ends the process without waiting for its other threads.
  [[noreturn]] virtual void leave(const nlohmann::json& answer) = 0;
};

using Handler = std::function<nlohmann::json(const nlohmann::json& body, RequestContext& context)>;
using Handlers = std::map<std::string, Handler>;      // by the kind of the request

// Serves the channel at kChannelDescriptor. What a handler throws is sent as "failed", want of memory as
// "out of memory". Returns when the runner says "end"; when the runner dies, the whole process group ends at once.
int serve(const Handlers& handlers);

}  // namespace mgcompare
