#include "worker.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include <fmt/core.h>

#include "cause.h"
#include "examination.h"
#include "message.h"
#include "mgcompare/error.h"
#include "prober.h"
#include "process.h"
#include "verification.h"

namespace mgcompare {
namespace {

void end_group(int) { kill(0, SIGKILL); }

class Channel : public Line {
 public:
  Channel() : writer_(kChannelDescriptor), reading_([this] { read(); }), beating_([this](std::stop_token s) { beat(s); }) {
    reading_.detach();              // it ends with the process: it waits in recv() for as long as the runner lives
  }

  void report(const Progress& progress) override { send("progress", progress_to_json(progress)); }
  void note(const nlohmann::json& note) override { send("note", note); }
  bool stopping() const override { return stopping_; }
  [[noreturn]] void leave(const nlohmann::json& answer) override {
    send("answer", answer);
    _exit(EXIT_FAILURE);
  }

  void send(std::string_view kind, const nlohmann::json& body) {
    if (!writer_.send(kind, body)) end_group(0);
  }

  // The next request; nothing when the runner wants no more.
  std::optional<Message> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !requests_.empty(); });
    Message request = std::move(requests_.front());
    requests_.pop_front();
    if (request.kind == "end") return std::nullopt;
    return request;
  }

 private:
  void read() {
    MessageReader reader;
    std::string bytes(64 << 10, '\0');
    for (;;) {
      const ssize_t count = recv(kChannelDescriptor, bytes.data(), bytes.size(), 0);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) end_group(0);
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
    while (!alarm.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; }) && !stop.stop_requested()) {
      send("heartbeat", nullptr);
    }
  }

  MessageWriter writer_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> requests_;
  std::thread reading_;
  std::jthread beating_;
};

void answer(Channel& channel, const Handlers& handlers, const Message& request) {
  try {
    const auto handler = handlers.find(request.kind);
    if (handler == handlers.end()) throw Error(fmt::format("a worker knows no request '{}'", request.kind));
    channel.send("answer", handler->second(request.body, channel));
  } catch (...) {
    const Cause cause = cause_of(std::current_exception());
    channel.send(cause.status == "out of memory" ? cause.status : "failed", sanitized(cause.sentence));
  }
}

}  // namespace

int serve(const Handlers& handlers) {
  struct sigaction action{};
  action.sa_handler = end_group;
  sigaction(SIGHUP, &action, nullptr);
  // The reading thread may still use it when main returns, so it is never destroyed.
  Channel& channel = *new Channel;
  channel.send("hello", {{"process", getpid()}});
  while (const std::optional<Message> request = channel.next()) answer(channel, handlers, *request);
  return 0;
}

int run_worker() {
  Handlers handlers = probe_handlers();
  handlers.merge(verification_handlers());
  handlers.merge(examination_handlers());
  Session session;
  handlers["trial"] = [&](const nlohmann::json& body, Line& line) -> nlohmann::json {
    const TrialFiles files{body.at("checkpoint").get<std::string>(), body.at("resume").get<bool>(),
                           body.at("record").get<std::string>(), body.at("replay").get<bool>(),
                           body.at("trace").get<std::string>()};
    const Trial trial = body.at("trial").get<Trial>();
    session.data(trial.config.data, telling_places(line), telling_log(line));
    line.note({{"ready", true}});
    return session.run(trial, files, [&](const Progress& progress) { line.report(progress); },
                       [&] { return line.stopping(); }, [&](const Result& result) { line.leave(result); });
  };
  handlers["data"] = [&](const nlohmann::json& body, Line& line) -> nlohmann::json {
    const Dataset& data =
        session.data(body.at("config").get<Config>().data, telling_places(line), telling_log(line));
    return {{"name", data.name},
            {"origin", data.origin},
            {"fingerprint", data.fingerprint},
            {"train_samples", data.train.samples},
            {"test_samples", data.test.samples}};
  };
  return serve(handlers);
}

DataPlaces telling_places(Line& line) {
  DataPlaces places = DataPlaces::standard("");
  places.download.progress = [&line](const DownloadProgress& progress) {
    line.note({{"download", progress.file}, {"bytes", progress.bytes}, {"total", progress.total}});
  };
  return places;
}

DataLog telling_log(Line& line) {
  return [&line](const std::string& text) { line.note({{"text", text}}); };
}

nlohmann::json progress_to_json(const Progress& progress) {
  return {{"phase", progress.phase}, {"epoch", progress.epoch}, {"epochs", progress.epochs},
          {"step", progress.step},   {"steps", progress.steps}, {"loss", progress.loss}};
}

Progress progress_from_json(const nlohmann::json& json) {
  Progress progress;
  progress.phase = json.at("phase").get<std::string>();
  progress.epoch = json.at("epoch").get<std::size_t>();
  progress.epochs = json.at("epochs").get<std::size_t>();
  progress.step = json.at("step").get<std::size_t>();
  progress.steps = json.at("steps").get<std::size_t>();
  // JSON has no infinities: a loss that is none arrives as null.
  progress.loss = json.at("loss").is_number() ? json["loss"].get<double>() : std::nan("");
  return progress;
}

}  // namespace mgcompare
