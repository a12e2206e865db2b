#include "process/worker.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include <fmt/core.h>

#include "base/clock.h"
#include "base/print.h"
#include "base/standstill.h"
#include "base/text.h"
#include "mgcompare/error.h"
#include "process/guardian.h"
#include "process/message.h"
#include "process/process.h"
#include "results/cause.h"

namespace mgcompare {
namespace {

class Channel : public RequestContext {
 public:
  Channel()
      : position_(Descriptor(kPositionDescriptor)), writer_(kChannelDescriptor),
        beating_([this](std::stop_token s) { beat(s); }), reading_([this] { read(); }) {
    reading_.detach();              // it blocks in recv() until the process ends
  }

  void report(const Progress& progress) override { send("progress", progress_to_json(progress)); }
  void note(const nlohmann::json& note) override { send("note", note); }
  bool stopping() const override { return stopping_; }
  LivePosition& position() override { return *position_; }
  [[noreturn]] void leave(const nlohmann::json& answer) override {
    send("answer", answer);
    _exit(EXIT_FAILURE);
  }

  // A message over the limit becomes a failure of the request, with its size as the cause.
  void send(std::string_view kind, const nlohmann::json& body) {
    try {
      if (!writer_.send(kind, body)) end();
    } catch (const Error& error) {
      send(to_string(TrialStatus::failed), fmt::format("the worker has {} (texts, metrics or settings of the plugin are too large)", error.what()));
    }
  }

  // Waits for the next request. Returns nothing after "end".
  std::optional<Message> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !requests_.empty(); });
    Message request = std::move(requests_.front());
    requests_.pop_front();
    if (request.kind == "end") return std::nullopt;
    return request;
  }

 private:
  // The connection is closed: the runner has ended, or a plugin closed it. The guardian kills what is left of the group.
  [[noreturn]] void end() {
    position_->cut_off();
    kill(0, SIGKILL);
    _exit(EXIT_FAILURE);
  }

  void read() {
    MessageReader reader;
    std::string bytes(64 << 10, '\0');
    for (;;) {
      const ssize_t count = recv(kChannelDescriptor, bytes.data(), bytes.size(), 0);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) end();
      reader.feed(std::string_view(bytes).substr(0, static_cast<std::size_t>(count)));
      while (std::optional<Message> message = reader.next()) take(std::move(*message));
    }
  }

  void take(Message message) {
    if (message.kind == "stop") {
      stopping_ = true;
      return;
    }
    const std::lock_guard lock(mutex_);
    requests_.push_back(std::move(message));
    changed_.notify_one();
  }

  void beat(std::stop_token stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any alarm;
    for (;;) {
      Standstill::sleeps_until(now() + 1);
      const bool ends = alarm.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; }) || stop.stop_requested();
      Standstill::woke();
      if (ends) return;
      send("heartbeat", nullptr);
    }
  }

  SharedPosition position_;
  MessageWriter writer_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> requests_;
  std::jthread beating_;
  std::thread reading_;             // last: it cannot be ended if another member fails
};

void answer(Channel& channel, const Handlers& handlers, const Message& request) {
  try {
    const auto handler = handlers.find(request.kind);
    if (handler == handlers.end()) throw Error(fmt::format("unknown request '{}'", request.kind));
    channel.send("answer", handler->second(request.body, channel));
  } catch (...) {
    const Cause cause = cause_of(std::current_exception());
    const bool is_told = cause.status == TrialStatus::out_of_memory || cause.status == TrialStatus::interrupted;
    channel.send(to_string(is_told ? cause.status : TrialStatus::failed), plain(cause.sentence));
  }
}

Channel* served = nullptr;
std::atomic<bool> exits_at_once{false};

// An exception left a thread or a destructor of a plugin. Lack of memory is a cause of its own; all others are crashes.
[[noreturn]] void on_terminate() {
  const std::exception_ptr thrown = std::current_exception();
  if (thrown && cause_of(thrown).status == TrialStatus::out_of_memory) {
    // Sending takes memory too.
    rlimit limit{};
    getrlimit(RLIMIT_DATA, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_DATA, &limit);
    served->send(to_string(TrialStatus::out_of_memory),
                 plain(fmt::format("{}, in a thread or destructor of a plugin {}", cause_of(thrown).sentence, text_of(served->position().get()))));
    _exit(EXIT_FAILURE);
  }
  if (thrown) print_stderr("an exception left a thread, a destructor or a noexcept function: {}\n", plain(cause_of(thrown).sentence));
  std::abort();
}

}  // namespace

void exit_at_once() { exits_at_once = true; }

int serve(const Handlers& handlers, const std::function<void()>& prepare) {
  split_off_guardian();
  if (prepare) prepare();
  // Never destroyed: the reading thread may still use it when main returns.
  Channel& channel = *new Channel;
  served = &channel;
  exit_at_once();
  std::set_terminate(on_terminate);
  channel.send("hello", {{"process", getpid()}});
  while (const std::optional<Message> request = channel.next()) answer(channel, handlers, *request);
  return 0;
}

}  // namespace mgcompare

// Takes the place of the C library's exit(), also for plugins: it is exported. That one destroys static objects while other threads
// use them, and the crash that follows would be reported in place of the exit. A handler of atexit() cannot prevent this: static
// objects that are made after its registration are destroyed before it is called.
extern "C" __attribute__((visibility("default"))) void exit(int status) noexcept {
  if (mgcompare::exits_at_once) {
    std::fflush(nullptr);
    _exit(status);
  }
  reinterpret_cast<void (*)(int)>(dlsym(RTLD_NEXT, "exit"))(status);
  _exit(status);
}
