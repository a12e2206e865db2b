#include "process/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include "base/debugger.h"
#include "base/error_text.h"
#include "base/text.h"
#include "discovery/manifest.h"
#include "discovery/private_libraries.h"
#include "mgcompare/error.h"
#include "process/memory_limit.h"
#include "process/worker.h"

namespace mgcompare {
namespace {

using Clock = std::chrono::steady_clock;

// For requests other than trials to answer after an interruption: no result is lost with them.
constexpr double kSecondsToAnswer = 0.3;

Clock::duration seconds(double value) {
  // At most a year, so that adding it to the current time cannot overflow.
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(value, 3.2e7)));
}

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(seconds * 1000)));
}

// Whether a damaged worker can be the reason for this end.
bool may_be_damage(TrialStatus status) {
  return status == TrialStatus::failed || status == TrialStatus::crashed || status == TrialStatus::timeout ||
         status == TrialStatus::out_of_memory;
}

}  // namespace

void Reply::throw_if_interrupted() const {
  if (status == TrialStatus::interrupted) throw Error("interrupted before the first trial; no result was recorded");
}

const nlohmann::json& Reply::require(const std::string& what, const std::string& advice) const {
  if (answered()) return body;
  throw_if_interrupted();
  if (status == TrialStatus::failed) throw Error(cause);
  throw Error(fmt::format("{}: {}; {}", what, failure(), advice));
}

std::string Reply::failure() const { return fmt::format("{} ({})", cause, to_string(status)); }

struct Supervisor::PendingRequest {
  Listener listener;
  Clock::time_point deadline, heard, progressed, stop_by;
  double limit_seconds = 0;
  std::optional<double> progress_seconds;
  bool is_loading = true;           // it has not said that its data are there
  bool is_preparing = false;        // a new worker has not reported progress on this request yet
  bool stops = false;               // by itself, when it is told to
  bool stop_sent = false;
  std::optional<Reply> reply;
};

Supervisor::Supervisor(SupervisorSettings settings) : settings_(std::move(settings)), log_(settings_.log_file) {
  adopt_orphans();
}

Supervisor::~Supervisor() { end_worker(); }

bool Supervisor::start_worker() {
  // A worker that died while idle must not fail the next trial.
  if (worker_ && !worker_->wait(std::chrono::milliseconds(0))) return false;
  started_ = Clock::now();
  users_.clear();
  kills_at_start_ = out_of_memory_kills(settings_.kernel_counters);
  // Waiting OpenMP threads must sleep: a spinning one would take the core of another rank. The runtime reads both at start.
  worker_ = std::make_unique<Process>(
      settings_.arguments, std::map<std::string, std::string>{{"OMP_NUM_THREADS", "1"}, {"OMP_WAIT_POLICY", "PASSIVE"}},
      Process::Output::piped);
  reader_ = std::make_unique<MessageReader>();
  writer_ = std::make_unique<MessageWriter>(worker_->channel());
  spdlog::debug("worker {} started", worker_->id());
  return true;
}

void Supervisor::end_worker() {
  if (!worker_) return;
  if (writer_->send("end", nullptr)) {
    // Keep reading its output: a worker that prints would block otherwise.
    const Clock::time_point give_up = Clock::now() + seconds(settings_.seconds_grace);
    while (Clock::now() < give_up && !worker_->wait(std::chrono::milliseconds(20))) read_output();
  }
  worker_->stop(milliseconds(settings_.seconds_grace));
  read_output();
  worker_.reset();
  sweep_orphans();
}

void Supervisor::kill_worker(PendingRequest& request, TrialStatus status, const std::string& cause) {
  worker_->stop(milliseconds(status == TrialStatus::interrupted ? settings_.seconds_grace / 4 : settings_.seconds_grace));
  read_output();
  request.reply = Reply{status, cause, nullptr};
  worker_.reset();
  sweep_orphans();
}

void Supervisor::read_output() {
  std::array<char, 64 << 10> bytes;
  // At most a megabyte at a time, so that much output does not keep the runner from its other descriptors.
  for (int round = 0; round < 16; ++round) {
    const ssize_t count = read(worker_->output(), bytes.data(), bytes.size());
    if (count <= 0) return;
    log_.write({bytes.data(), static_cast<std::size_t>(count)});
  }
}

void Supervisor::read_channel(PendingRequest& request) {
  std::array<char, 64 << 10> bytes;
  try {
    for (;;) {
      const ssize_t count = recv(worker_->channel(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return;
      reader_->feed({bytes.data(), static_cast<std::size_t>(count)});
      while (const std::optional<Message> message = reader_->next()) handle(request, *message);
    }
  } catch (const std::exception& error) {
    kill_worker(request, TrialStatus::crashed, fmt::format("the worker sent {}", plain(error.what())));
  }
}

void Supervisor::handle(PendingRequest& request, const Message& message) {
  request.heard = Clock::now();
  // A new worker loads the data first; the time limit begins after that.
  if (message.kind == "note" || (message.kind == "progress" && std::exchange(request.is_preparing, false))) {
    request.deadline = request.heard + seconds(request.limit_seconds);
  }
  if (message.kind == "hello") {
    seconds_start_ = std::chrono::duration<double>(request.heard - started_).count();
    request.progressed = request.heard;
  } else if (message.kind == "progress") {
    request.progressed = request.heard;
    if (request.listener.progress) request.listener.progress(progress_from_json(message.body));
  } else if (message.kind == "note") {
    request.progressed = request.heard;
    if (message.body.contains("ready")) request.is_loading = false;
    if (request.listener.note) request.listener.note(message.body);
  } else if (message.kind == "answer") {
    request.reply = Reply{TrialStatus::done, "", message.body};
  } else if (message.kind == to_string(TrialStatus::failed) || message.kind == to_string(TrialStatus::out_of_memory) ||
             message.kind == to_string(TrialStatus::interrupted)) {
    request.reply = Reply{trial_status_of(message.kind), plain(message.body.get<std::string>()), nullptr};
  } else if (message.kind != "heartbeat") {
    throw Error(fmt::format("a message of unknown kind '{}'", message.kind));
  }
}

void Supervisor::on_exit(PendingRequest& request) {
  read_channel(request);           // it may have answered before it exited
  if (!worker_) return;
  read_output();
  const std::optional<Ending> ending = worker_->wait(std::chrono::milliseconds(0));
  const std::string place = worker_->position().text_with_call();
  const bool is_cut_off = worker_->position().is_cut_off();
  worker_.reset();
  sweep_orphans();
  if (request.reply) return;
  // Libraries exit or abort where they get no memory or thread, or use memory that they did not get.
  const std::string limit = memory_limit_note(), lack = limit.empty() ? "" : ", perhaps for lack of memory" + limit;
  if (is_cut_off) {
    request.reply = Reply{
        TrialStatus::crashed,
        fmt::format("the worker's connection to the program was closed: code in the worker closed descriptors that it had not opened ({})", place), nullptr};
  } else if (ending->signal == 0) {
    request.reply = Reply{TrialStatus::crashed, fmt::format("the worker ended by itself ({}) {}{}", ending->text(), place, lack), nullptr};
  } else if (ending->signal == SIGKILL && memory_ran_out()) {
    request.reply = Reply{TrialStatus::out_of_memory,
                          fmt::format("probably the kernel ended the worker for lack of memory ({} {})", ending->text(), place), nullptr};
  } else {
    std::string guess = lack;
    if (ending->signal == SIGBUS) guess = ", perhaps because a data file was shortened, or the disk of a mapped file is full";
    if (ending->signal == SIGXCPU || ending->signal == SIGKILL) guess = processor_limit_note(ending->signal);
    request.reply = Reply{TrialStatus::crashed, fmt::format("{} {}{}", ending->text(), place, guess), nullptr};
  }
}

bool Supervisor::memory_ran_out() const {
  const std::optional<std::uint64_t> kills = out_of_memory_kills(settings_.kernel_counters);
  return kills && kills_at_start_ && *kills > *kills_at_start_;
}

double Supervisor::seconds_without_progress(const PendingRequest& request) const {
  const double own = request.progress_seconds.value_or(settings_.seconds_without_progress);
  return request.is_loading ? std::max(own, settings_.seconds_without_progress) : own;
}

void Supervisor::check_limits(PendingRequest& request) {
  const Clock::time_point now = Clock::now();
  const double progress_seconds = seconds_without_progress(request);
  const std::string place = worker_->position().text();
  if (settings_.interrupted() && !request.stop_sent) {
    request.stop_sent = true;
    request.stop_by = now + seconds(request.stops ? settings_.seconds_to_stop : std::min(kSecondsToAnswer, settings_.seconds_to_stop));
    writer_->send("stop", nullptr);
  }
  const bool is_late = now > request.deadline || now > request.progressed + seconds(progress_seconds) ||
                       now > request.heard + seconds(settings_.seconds_without_heartbeat);
  if (is_late && !request.stop_sent && is_debugged()) {
    request.deadline = now + seconds(request.limit_seconds);
    request.progressed = request.heard = now;
    return;
  }
  if (request.stop_sent && now > request.stop_by) {
    kill_worker(request, TrialStatus::interrupted, fmt::format("it did not stop by itself {}", place));
  } else if (now > request.deadline) {
    kill_worker(request, TrialStatus::timeout,
                fmt::format("over the limit of {:g} s {}", request.limit_seconds, place));
  } else if (now > request.progressed + seconds(progress_seconds)) {
    kill_worker(request, TrialStatus::timeout,
                fmt::format("no progress for {:g} s {}", progress_seconds, place));
  } else if (now > request.heard + seconds(settings_.seconds_without_heartbeat)) {
    kill_worker(request, TrialStatus::timeout,
                fmt::format("the worker was silent for {:g} s {}", settings_.seconds_without_heartbeat,
                            place));
  }
}

void Supervisor::wait_for_events(const PendingRequest& request) {
  Clock::time_point next = std::min({request.deadline, request.heard + seconds(settings_.seconds_without_heartbeat),
                                     request.progressed + seconds(seconds_without_progress(request))});
  if (request.stop_sent) next = std::min(next, request.stop_by);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count() + 1;
  // The descriptor of the signals stays readable: watch it only until the stop was sent.
  std::array<pollfd, 4> events = {{{worker_->channel(), POLLIN, 0},
                                   {worker_->output(), POLLIN, 0},
                                   {worker_->exit_descriptor(), POLLIN, 0},
                                   {request.stop_sent ? -1 : settings_.interruption_descriptor, POLLIN, 0}}};
  // A worker that closed its output would otherwise make poll() return at once every time.
  if (poll(events.data(), events.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000))) > 0 &&
      ((events[0].revents | events[1].revents) & POLLIN) == 0 && events[2].revents == 0 && events[3].revents == 0) {
    poll(&events[2], 1, 10);
  }
}

Reply Supervisor::ask(const std::string& kind, const nlohmann::json& body, double limit_seconds, const Listener& listener,
                      std::optional<double> progress_seconds) {
  return wait_for_reply(kind, body, limit_seconds, listener, progress_seconds, false);
}

Reply Supervisor::wait_for_reply(const std::string& kind, const nlohmann::json& body, double limit_seconds, const Listener& listener,
                                 std::optional<double> progress_seconds, bool stops) {
  PendingRequest request;
  request.stops = stops;
  request.is_preparing = start_worker();
  worker_->position().set({});
  request.listener = listener;
  request.limit_seconds = limit_seconds;
  request.progress_seconds = progress_seconds;
  request.heard = request.progressed = Clock::now();
  request.deadline =
      request.heard +
      seconds(request.is_preparing ? limit_seconds + settings_.seconds_to_prepare : limit_seconds);
  // If sending fails the worker is dead or stuck, which the loop detects.
  writer_->send(kind, body);
  while (!request.reply) {
    wait_for_events(request);
    read_output();
    read_channel(request);
    if (request.reply) break;
    if (worker_->wait(std::chrono::milliseconds(0))) {
      on_exit(request);
    } else {
      check_limits(request);
    }
  }
  if (!request.reply->answered() && worker_) end_worker();
  return *request.reply;
}

Result Supervisor::run(const Trial& trial, const TrialFiles& files,
                       const std::function<void(const Progress&)>& report) {
  // The loader would give the plugin the other one's library.
  if (is_confused_with_users(trial)) end_worker();
  Result result = run_once(trial, files, report);
  if (is_backend(trial.plugin_file)) return result;  // its code runs in a process of its own
  const std::vector<std::string> others = users_besides(trial);
  users_.emplace(trial.plugin_file, trial.strategy.label);
  if (others.empty() || !may_be_damage(result.status) || settings_.interrupted()) return result;
  const std::string first = fmt::format("{}: {}", to_string(result.status), result.cause);
  // Not from a checkpoint of the used worker.
  TrialFiles anew = files;
  anew.resume = false;
  result = run_once(trial, anew, report);
  users_.emplace(trial.plugin_file, trial.strategy.label);
  warn(trial, result, fmt::format("failed in a worker used by {} ({}); repeated in a fresh one", fmt::join(others, ", "), first));
  return result;
}

void Supervisor::warn(const Trial& trial, Result& result, const std::string& text) {
  result.notes.push_back(text);
  warnings_.push_back(fmt::format("{}: {}", row_name(trial), text));
}

std::vector<std::string> Supervisor::users_besides(const Trial& trial) const {
  std::vector<std::string> labels;
  for (const auto& [file, label] : users_)
    if (file != trial.plugin_file) labels.push_back(label);
  return labels;
}

bool Supervisor::is_confused_with_users(const Trial& trial) {
  if (!worker_ || is_backend(trial.plugin_file)) return false;
  const auto libraries_of = [&](const std::string& file) -> const std::set<std::string>& {
    const auto [found, is_new] = libraries_.try_emplace(file);
    if (is_new) found->second = private_libraries(file);
    return found->second;
  };
  return std::any_of(users_.begin(), users_.end(), [&](const auto& user) {
    return user.first != trial.plugin_file && are_confused(libraries_of(user.first), libraries_of(trial.plugin_file));
  });
}

Result Supervisor::run_once(const Trial& trial, const TrialFiles& files,
                            const std::function<void(const Progress&)>& report) {
  log_.heading(fmt::format("trial {}: {}", trial.number, row_name(trial)));
  if (is_backend(trial.plugin_file) && !scratch_) scratch_.emplace();
  TrialFiles given = files;
  given.scratch = scratch_ ? scratch_->path() : "";
  nlohmann::json body = files_to_json(given);
  body["trial"] = trial;
  Reply reply = wait_for_reply("trial", body, trial.config.measure.time_limit, {report, {}}, trial.config.measure.progress_limit, true);
  Result result;
  std::string left_behind;
  if (reply.answered()) {
    try {
      result = reply.body.get<Result>();
      result.cause = plain(result.cause);
      left_behind = plain(reply.body.value(kLeftBehind, ""));
      for (const std::string& host : reply.body.value(kLostHosts, std::vector<std::string>())) lost_hosts_.push_back(host);
    } catch (const std::exception& error) {
      reply = {TrialStatus::crashed, fmt::format("the worker's result cannot be read: {}", plain(error.what())), nullptr};
    }
  }
  if (!reply.answered()) {
    result = Result();
    result.status = reply.status;
    result.cause = reply.cause;
  }
  if (!left_behind.empty())
    warn(trial, result, fmt::format("the plugin of {} {} in the worker, which was replaced", trial.strategy.label, left_behind));
  result.seconds_worker_start = std::exchange(seconds_start_, 0.0);
  const bool done = result.status == TrialStatus::done;
  // A worker exits if a rank of a trial fails or diverges.
  if (!done || !left_behind.empty() || trial.config.isolation == Isolation::trial) end_worker();
  if (!done && result.status != TrialStatus::diverged) result.log = log_.last_lines();
  return result;
}

}  // namespace mgcompare
