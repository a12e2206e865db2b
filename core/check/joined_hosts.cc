#include "check/joined_hosts.h"

#include <compare>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/rank_threads.h"
#include "mgcompare/error.h"

namespace mgcompare {
namespace {

// From a host to another on a channel.
struct Wire {
  std::size_t from = 0, to = 0;
  int channel = 0;
  auto operator<=>(const Wire&) const = default;
};

constexpr int kExchange = -1;        // the channel of exchange()

// What is on its way between the hosts.
class Wires {
 public:
  void put(const Wire& wire, std::string bytes) {
    const std::lock_guard lock(mutex_);
    parts_[wire].push_back(std::move(bytes));
    changed_.notify_all();
  }
  std::string take(const Wire& wire) {
    std::unique_lock lock(mutex_);
    std::deque<std::string>& parts = parts_[wire];
    changed_.wait(lock, [&] { return aborted_ || !parts.empty(); });
    if (aborted_) throw Aborted();
    std::string bytes = std::move(parts.front());
    parts.pop_front();
    return bytes;
  }
  void abort() {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Wire, std::deque<std::string>> parts_;
  bool aborted_ = false;
};

class JoinedTransport : public Transport {
 public:
  JoinedTransport(Wires& wires, std::size_t host, std::size_t hosts) : wires_(wires), host_(host), hosts_(hosts) {}
  std::size_t host() const override { return host_; }
  std::size_t hosts() const override { return hosts_; }
  std::string version() const override { return "threads"; }
  void exchange(const std::vector<Outgoing>& out, const std::vector<Incoming>& in) override {
    transfer(kExchange, out, in);
  }
  void transfer(int channel, const std::vector<Outgoing>& out, const std::vector<Incoming>& in) override {
    for (const Outgoing& part : out)
      if (part.bytes > 0) wires_.put({host_, part.host, channel}, std::string(static_cast<const char*>(part.data), part.bytes));
    for (const Incoming& part : in) {
      if (part.bytes == 0) continue;
      const std::string bytes = wires_.take({part.host, host_, channel});
      if (bytes.size() != part.bytes) throw Error("a host sent " + std::to_string(bytes.size()) + " bytes, expected " + std::to_string(part.bytes));
      std::memcpy(part.data, bytes.data(), bytes.size());
    }
  }
  void send(std::size_t, std::string_view) override {}
  std::optional<HostMessage> receive() override { return std::nullopt; }
  void abort() override { wires_.abort(); }
  void finish() override {}

 private:
  Wires& wires_;
  std::size_t host_, hosts_;
};

}  // namespace

void on_joined_hosts(std::size_t count, const std::function<void(const HostSpan&)>& body) {
  Wires wires;
  run_ranks(
      count,
      [&](int number) {
        const auto host = static_cast<std::size_t>(number);
        JoinedTransport transport(wires, host, count);
        body(HostSpan{&transport, count, host});
      },
      [&] { wires.abort(); });
}

}  // namespace mgcompare
