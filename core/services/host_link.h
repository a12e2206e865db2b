#pragma once

// Connects the workers of a job over several hosts beside the data: requests go from the first host to the others, and what became of them
// comes back. A thread tells the others every second that this host is alive. The first host notices which other one is not; the others end
// when the first one is silent.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "platform/transport.h"
#include "results/status.h"

namespace mgcompare {

struct HostRequest {
  std::string kind;
  nlohmann::json body;
};

// Why another host does not go on with the present request.
struct HostTrouble {
  std::size_t host = 0;
  TrialStatus status = TrialStatus::device_lost;
  std::string sentence;
  bool is_silent = false;
};

// In the answer of a host whose trial failed: it takes part in no further exchange.
inline constexpr char kEnds[] = "ends";

class HostLink {
 public:
  // `names`: of all hosts. `timeout`: seconds after which a silent host is lost.
  HostLink(Transport& transport, std::vector<std::string> names, double timeout);

  const std::vector<std::string>& names() const { return names_; }
  const std::string& own_name() const { return names_.at(transport_.host()); }

  // On the first host.
  // Sends a request to the hosts 1 to `hosts` - 1.
  void ask(std::size_t hosts, const HostRequest& request);
  // Waits until each of them has answered, or one is lost. Returns their answers in the order of the hosts, or fewer.
  // `waiting` is called every few seconds meanwhile.
  std::vector<nlohmann::json> answers(std::size_t hosts, const std::function<void()>& waiting = {});
  // Sends "end" to all.
  void end_others();
  // The first host that failed or was lost. transport.exchange() throws Aborted from then on.
  std::optional<HostTrouble> trouble();

  // On the others.
  // Waits for the next request. Returns nothing after "end".
  std::optional<HostRequest> next();
  void answer(const nlohmann::json& body);

 private:
  using Clock = std::chrono::steady_clock;
  void run();
  void take(const HostMessage& message);
  void beat();
  void check_silence();
  void give_up(HostTrouble trouble);  // the caller holds the lock
  void send(std::size_t host, const std::string& kind, const nlohmann::json& body);

  Transport& transport_;
  std::vector<std::string> names_;
  double timeout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Clock::time_point> heard_;                // from each host
  std::vector<std::optional<nlohmann::json>> answers_;  // of each host to the present request
  std::deque<HostRequest> requests_;
  std::optional<HostTrouble> trouble_;
  std::size_t awaited_ = 0;         // hosts of the present request
  Clock::time_point next_beat_;
};

}  // namespace mgcompare
