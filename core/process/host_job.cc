#include "process/host_job.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "base/descriptor.h"
#include "base/error_text.h"
#include "base/temporary_folder.h"
#include "mgcompare/error.h"
#include "process/guardian.h"
#include "process/message.h"
#include "process/mpirun.h"
#include "process/process.h"
#include "process/worker.h"
#include "results/result.h"

namespace mgcompare {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr double kSecondsToStart = 25;
constexpr double kGraceSeconds = 8;   // mpirun ends the workers of all hosts
constexpr std::size_t kKeptOutput = 64 << 10;
constexpr auto kGrace = 1500ms;       // less than the supervisor's

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) throw Error("the name of the temporary directory is too long for a socket; set TMPDIR to a shorter one");
  std::memcpy(address.sun_path, path.c_str(), path.size());
  return address;
}

Descriptor listen_at(const std::string& path) {
  Descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_of(path);
  if (bind(listener.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 || listen(listener.number(), 1) != 0)
    throw Error("cannot make a socket in the temporary directory: " + error_text(errno));
  return listener;
}

class HostJob {
 public:
  HostJob(HostLauncher launcher, const std::vector<std::string>& hosts, double timeout)
      : hosts_(hosts), socket_(folder_.path() + "/job"), listener_(listen_at(socket_)), to_runner_(kChannelDescriptor), started_(Clock::now()) {
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, nullptr);
    stop_ = Descriptor(signalfd(-1, &term, SFD_CLOEXEC));
    try {
      std::vector<std::string> arguments = {"--host-worker", fmt::format("{:g}", timeout), socket_, fmt::format("/proc/{}/fd/{}", getpid(), kPositionDescriptor)};
      arguments.insert(arguments.end(), hosts.begin(), hosts.end());
      mpirun_ = std::make_unique<Mpirun>(launcher, hosts, arguments);
    } catch (const Error& error) {
      failure_ = HostFailure{error.what()};
    }
  }

  int run() {
    while (!is_over_) {
      wait_for_events();
      beat();
    }
    return 0;
  }

 private:
  void wait_for_events() {
    const bool is_connected = worker_.number() >= 0;
    std::array<pollfd, 6> events = {{{kChannelDescriptor, POLLIN, 0},
                                     {stop_.number(), POLLIN, 0},
                                     {mpirun_ ? mpirun_->output() : -1, POLLIN, 0},
                                     {mpirun_ ? mpirun_->exit_descriptor() : -1, POLLIN, 0},
                                     {is_connected || !mpirun_ ? -1 : listener_.number(), POLLIN, 0},
                                     {worker_.number(), POLLIN, 0}}};
    poll(events.data(), events.size(), 200);
    if (events[2].revents != 0) read_output();
    if (events[4].revents != 0) accept_worker();
    if (events[5].revents != 0) pass_to_runner();
    if (events[1].revents != 0) return end();
    if (events[0].revents != 0) pass_to_worker();
    if (mpirun_ && events[3].revents != 0) fail(explain_mpirun(read_output(), hosts_));
    if (mpirun_ && !is_ready_ && Clock::now() > started_ + std::chrono::duration<double>(kSecondsToStart))
      fail(explain_silence(read_output(), hosts_, kSecondsToStart));
  }

  // The worker of the first host beats itself once it is there.
  void beat() {
    if (is_ready_ || pending_.empty() || Clock::now() < next_beat_) return;
    next_beat_ = Clock::now() + 1s;
    if (!to_runner_.send("heartbeat", nullptr)) end();
  }

  const std::string& read_output() {
    std::array<char, 16 << 10> bytes;
    for (;;) {
      const ssize_t count = mpirun_ ? read(mpirun_->output(), bytes.data(), bytes.size()) : 0;
      if (count <= 0) return output_;
      const auto size = static_cast<std::size_t>(count);
      [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, bytes.data(), size);
      output_.append(bytes.data(), size);
      if (output_.size() > kKeptOutput) output_.erase(0, output_.size() - kKeptOutput);
    }
  }

  void accept_worker() {
    worker_ = Descriptor(accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
    if (worker_.number() < 0) return;
    to_worker_ = std::make_unique<MessageWriter>(worker_.number());
  }

  // Returns whether the descriptor is still open.
  bool receive(int descriptor, MessageReader& reader) {
    std::array<char, 64 << 10> bytes;
    const ssize_t count = recv(descriptor, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (count <= 0) return false;
    reader.feed({bytes.data(), static_cast<std::size_t>(count)});
    return true;
  }

  void pass_to_runner() {
    const bool is_open = receive(worker_.number(), from_worker_);
    while (const std::optional<Message> message = from_worker_.next()) {
      if (message->kind == "hello") {
        is_ready_ = true;
        for (const Message& waiting : std::exchange(waiting_, {})) to_worker_->send(waiting.kind, waiting.body);
      }
      // It answers, or failed to.
      if (message->kind != "progress" && message->kind != "note" && message->kind != "heartbeat" && message->kind != "hello") pending_.clear();
      // Nobody reads between two requests.
      if (message->kind == "heartbeat" && pending_.empty()) continue;
      if (!to_runner_.send(message->kind, message->body)) end();
    }
    if (is_open) return;
    worker_.close();
  }

  void pass_to_worker() {
    if (!receive(kChannelDescriptor, from_runner_)) return end();
    while (const std::optional<Message> message = from_runner_.next()) {
      if (message->kind == "end") return end();
      if (message->kind != "stop") begin(message->kind);
      if (failure_) answer();
      else if (is_ready_) to_worker_->send(message->kind, message->body);
      else waiting_.push_back(*message);
    }
  }

  // What was printed before does not explain how this request ends.
  void begin(const std::string& kind) {
    pending_ = kind;
    if (!is_ready_) return;
    read_output();
    output_.clear();
  }

  void fail(const HostFailure& failure) {
    if (worker_.number() >= 0) pass_to_runner();  // it may have answered before it ended
    mpirun_.reset();
    // A job that ended between two requests must not fail the next one: the supervisor starts another job.
    if (is_ready_ && pending_.empty()) is_over_ = true;
    is_ready_ = false;
    failure_ = failure;
    answer();
  }

  // In place of the worker.
  void answer() {
    if (pending_.empty()) return;  // it has failed already, and is told to stop
    if (pending_ == "trial") {
      Result result;
      result.status = failure_->is_crash ? TrialStatus::crashed : TrialStatus::device_lost;
      result.cause = failure_->sentence;
      nlohmann::json body = result;
      body[kLostHosts] = failure_->lost;
      to_runner_.send("answer", body);
    } else {
      to_runner_.send(to_string(TrialStatus::failed), failure_->sentence);
    }
    pending_.clear();
  }

  void end() {
    is_over_ = true;
    if (!mpirun_) return;
    if (is_ready_ && pending_.empty() && to_worker_->send("end", nullptr)) {
      pollfd watch{mpirun_->exit_descriptor(), POLLIN, 0};
      poll(&watch, 1, static_cast<int>(std::chrono::milliseconds(kGrace).count()) / 2);
    }
    read_output();
    mpirun_->stop(kGrace);
  }

  const std::vector<std::string> hosts_;
  TemporaryFolder folder_;
  const std::string socket_;
  Descriptor listener_, worker_, stop_;
  MessageReader from_runner_, from_worker_;
  MessageWriter to_runner_;
  std::unique_ptr<MessageWriter> to_worker_;
  std::unique_ptr<Mpirun> mpirun_;
  const Clock::time_point started_;
  Clock::time_point next_beat_;
  std::string output_;                  // the last part
  std::vector<Message> waiting_;        // until the workers are connected
  std::string pending_;                 // the kind of the request that is not answered; empty: none
  std::optional<HostFailure> failure_;
  bool is_ready_ = false, is_over_ = false;
};

}  // namespace

SupervisorSettings host_job_settings(const HostsConfig& hosts, SupervisorSettings settings) {
  settings.seconds_grace = kGraceSeconds;
  settings.arguments = {"--host-job", fmt::format("{:g}", hosts.timeout), std::string(to_string(hosts.launcher))};
  settings.arguments.insert(settings.arguments.end(), hosts.names.begin(), hosts.names.end());
  return settings;
}

int run_host_job(HostLauncher launcher, const std::vector<std::string>& hosts, double seconds_to_answer) {
  split_off_guardian();
  return HostJob(launcher, hosts, seconds_to_answer).run();
}

void join_host_job(const std::string& path, const std::string& position) {
  Descriptor channel(socket(AF_UNIX, SOCK_STREAM, 0));
  const sockaddr_un address = address_of(path);
  if (connect(channel.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    throw Error("the first host of --hosts must be the machine that runs mgcompare: its worker does not find the runner (" + error_text(errno) + ")");
  Descriptor memory(open(position.c_str(), O_RDWR));
  if (memory.number() < 0) throw Error("the memory of the runner cannot be opened: " + error_text(errno));
  // Either may have the number of the other.
  const Descriptor high_channel(fcntl(channel.number(), F_DUPFD, 10)), high_memory(fcntl(memory.number(), F_DUPFD, 10));
  channel.close();
  memory.close();
  dup2(high_channel.number(), kChannelDescriptor);
  dup2(high_memory.number(), kPositionDescriptor);
}

}  // namespace mgcompare
