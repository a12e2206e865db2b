#include "backends/backend_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "base/descendants.h"
#include "base/error_text.h"
#include "base/program_search.h"
#include "base/text.h"
#include "mgcompare/error.h"
#include "process/child.h"
#include "process/memory_limit.h"
#include "process/worker_log.h"
#include "results/cause.h"

namespace fs = std::filesystem;

namespace mgcompare {
namespace {

constexpr int kRequestDescriptor = 3, kAnswerDescriptor = 4;
constexpr int kTickMilliseconds = 200;
constexpr double kSecondsForOthers = 1;   // that its processes have left to end after the program itself has
constexpr std::size_t kWords = 4;         // last lines of its output in a cause
constexpr char kKernelCounters[] = "/proc/vmstat";
constexpr char kFailed[] = "cannot start the backend: {}: {}";

struct ChildSide {
  pid_t parent;
  int requests, answers, output, nothing;
  const char* folder;
  const cpu_set_t* processors;
  char* const* arguments;
  char* const* environment;
};

// Between fork and exec only async-signal-safe calls are allowed.
[[noreturn]] void become_child(const ChildSide& side) {
  for (const int number : {SIGHUP, SIGTERM, SIGINT, SIGCHLD, SIGPIPE}) signal(number, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != side.parent) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // They may themselves have the numbers 0 to 4: move them first.
  const int requests = fcntl(side.requests, F_DUPFD, 10), answers = fcntl(side.answers, F_DUPFD, 10);
  const int output = fcntl(side.output, F_DUPFD, 10), nothing = fcntl(side.nothing, F_DUPFD, 10);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  dup2(requests, kRequestDescriptor);
  dup2(answers, kAnswerDescriptor);
  close_range(kAnswerDescriptor + 1, ~0u, 0);
  if (side.processors != nullptr) sched_setaffinity(0, sizeof(cpu_set_t), side.processors);
  if (chdir(side.folder) != 0) _exit(126);
  execve(side.arguments[0], side.arguments, side.environment);
  _exit(127);
}

// Beside the program, in an installation and in a build folder.
std::string module_folder() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path() / "share" / "mgcompare" / "share" / "python";
  return fs::is_directory(folder, error) ? folder.string() : "";
}

}  // namespace

std::string interpreter(const std::string& python) {
  const auto unavailable = [](const std::string& text) -> EndedAs { return {TrialStatus::unavailable, text}; };
  if (python.find('/') != std::string::npos) {
    if (is_program(python)) return python;
    throw unavailable(fmt::format("`python:` names {}, which is not a program; correct it", plain(python)));
  }
  const std::string name = python.empty() ? "python3" : python;
  if (const std::string program = find_program(name); !program.empty()) return program;
  throw unavailable(fmt::format("there is no program {} on PATH; install it, or set `python:` to the path of an interpreter", plain(name)));
}

std::vector<std::string> variables_at_start() {
  std::vector<std::string> all;
  std::ifstream file("/proc/self/environ");
  for (std::string entry; std::getline(file, entry, '\0');) all.push_back(entry);
  return all;
}

std::vector<std::string> backend_environment(const std::string& module_folder, const std::vector<std::string>& at_start) {
  std::vector<std::string> all;
  std::string path = module_folder;
  const auto is_of_nccl = [](std::string_view text) { return text.starts_with("NCCL_"); };
  if (!at_start.empty()) std::copy_if(at_start.begin(), at_start.end(), std::back_inserter(all), is_of_nccl);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!at_start.empty() && is_of_nccl(text)) continue;
    if (text.starts_with("PYTHONPATH=")) path += (path.empty() ? "" : ":") + std::string(text.substr(11));
    else if (!text.starts_with("PYTHONSAFEPATH=") && !text.starts_with("PYTHONUNBUFFERED=")) all.emplace_back(text);
  }
  if (!path.empty()) all.push_back("PYTHONPATH=" + path);
  // As the option -P, which older versions do not know: the folder of the program is not at the front of the path, where its files would
  // take the place of installed modules; mgcompare_backend appends it. And last words must not stay in a buffer.
  all.insert(all.end(), {"PYTHONSAFEPATH=1", "PYTHONUNBUFFERED=1"});
  return all;
}

BackendProcess::BackendProcess(const Manifest& manifest, const BackendPlace& place)
    : name_(manifest.name), others_(descendants()), seconds_before_(descendants_seconds()), kills_before_(out_of_memory_kills(kKernelCounters)),
      log_(std::make_unique<WorkerLog>("")) {
  std::vector<std::string> arguments;
  if (manifest.is_python) arguments.push_back(interpreter(place.python));
  arguments.push_back(manifest.program);
  start(arguments, place);
}

BackendProcess::~BackendProcess() {
  end_all();
  read_log();
}

void BackendProcess::start(const std::vector<std::string>& arguments, const BackendPlace& place) {
  const auto fail = [](const char* what) { throw Error(fmt::format(kFailed, what, error_text(errno))); };
  int requests[2], answers[2], output[2];
  // A socket: writing to a pipe whose reader has ended would raise a signal.
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, requests) != 0) fail("no socket pair");
  requests_ = Descriptor(requests[0]);
  const Descriptor child_requests(requests[1]);
  if (pipe2(answers, O_CLOEXEC) != 0) fail("no pipe");
  answers_ = Descriptor(answers[0]);
  const Descriptor child_answers(answers[1]);
  if (pipe2(output, O_CLOEXEC) != 0) fail("no pipe");
  output_ = Descriptor(output[0]);
  const Descriptor child_output(output[1]), nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (nothing.number() < 0) fail("/dev/null");
  for (const Descriptor* const end : {&answers_, &output_}) fcntl(end->number(), F_SETFL, O_NONBLOCK);

  std::vector<std::string> texts = arguments, variables = backend_environment(module_folder(), variables_at_start());
  const std::vector<char*> argument_list = exec_list(texts), variable_list = exec_list(variables);
  const ChildSide side{getpid(), child_requests.number(), child_answers.number(), child_output.number(), nothing.number(),
                       place.folder.c_str(), place.processors ? &*place.processors : nullptr, argument_list.data(), variable_list.data()};
  id_ = fork();
  if (id_ < 0) fail("no process");
  if (id_ == 0) become_child(side);
  watch_ = watch_child(id_, fmt::format("the backend {}", name_));
}

void BackendProcess::send(const nlohmann::json& request) {
  request_ = request.at("id").get<int>();
  const std::string line = line_of(request);
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t sent = ::send(requests_.number(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    // It has ended, which receive() finds; or it reads nothing, and answers nothing.
    if (sent <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void BackendProcess::wait(int milliseconds) {
  std::array<pollfd, 3> events = {{{answers_.number(), POLLIN, 0}, {output_.number(), POLLIN, 0}, {watch_.number(), POLLIN, 0}}};
  poll(events.data(), events.size(), milliseconds);
  // A closed descriptor is readable for ever.
  if ((events[1].revents & POLLHUP) != 0 && (events[1].revents & POLLIN) == 0) output_.close();
}

void BackendProcess::read_log() {
  std::array<char, 64 << 10> bytes;
  for (int round = 0; round < 16; ++round) {
    const ssize_t count = output_.number() < 0 ? 0 : read(output_.number(), bytes.data(), bytes.size());
    if (count <= 0) return;
    log_->write({bytes.data(), static_cast<std::size_t>(count)});
    // The worker's log has it too.
    if (::write(STDERR_FILENO, bytes.data(), static_cast<std::size_t>(count)) < 0) continue;
  }
}

BackendProcess::Incoming BackendProcess::read_answers() {
  std::array<char, 64 << 10> bytes;
  const ssize_t count = read(answers_.number(), bytes.data(), bytes.size());
  if (count > 0) reader_.feed({bytes.data(), static_cast<std::size_t>(count)});
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return Incoming::nothing;
  return count > 0 ? Incoming::bytes : Incoming::end;
}

void BackendProcess::reap() {
  int status = 0;
  if (!status_ && waitpid(id_, &status, WNOHANG) == id_) status_ = status;
}

std::string BackendProcess::with_last_words(const std::string& sentence) {
  read_log();
  const std::vector<std::string> lines = log_->last_lines(kWords);
  return lines.empty() ? sentence : fmt::format("{}; its last words: {}", sentence, fmt::join(lines, " | "));
}

void BackendProcess::throw_ended() {
  // Its output may still be on its way, and so may its end if it has only closed its answers.
  const double give_up = now() + kSecondsForOthers;
  while (!status_ && now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    read_log();
    reap();
  }
  if (!status_) throw Error(with_last_words(fmt::format("the backend {} closed its answers before the last one", name_)));
  const std::optional<std::uint64_t> kills = out_of_memory_kills(kKernelCounters);
  const bool is_killed = WIFSIGNALED(*status_) && WTERMSIG(*status_) == SIGKILL;
  if (is_killed && kills && kills_before_ && *kills > *kills_before_)
    throw EndedAs(TrialStatus::out_of_memory, fmt::format("probably the kernel ended the backend {} for lack of memory", name_));
  const std::string guess = WIFSIGNALED(*status_) ? processor_limit_note(WTERMSIG(*status_)) : "";
  const std::string sentence = with_last_words(fmt::format("the backend {} ended by itself ({}){}", name_, ending_of(*status_).text(), guess));
  throw EndedAs(WIFSIGNALED(*status_) ? TrialStatus::crashed : TrialStatus::failed, sentence);
}

nlohmann::json BackendProcess::receive(std::string_view type, const Waiting& waiting) {
  const double begin = now();
  try {
    for (;;) {
      if (std::optional<BackendMessage> message = reader_.next(request_)) {
        received_ = now();
        if (message->type == "error") throw_reported(message->body);
        if (message->type != type) throw WrongMessage(fmt::format("sent '{}' where '{}' is due", plain(shortened(message->type, 60)), type));
        return std::move(message->body);
      }
      // Before reading, so that nothing that it sent is missed. Its own processes may hold descriptor 4 open.
      reap();
      const Incoming incoming = read_answers();
      if (incoming == Incoming::bytes) continue;
      if (incoming == Incoming::end || status_) throw_ended();
      read_log();
      if (waiting.tick) waiting.tick();
      const double left = waiting.seconds > 0 ? waiting.seconds - (now() - begin) : 1;
      if (left <= 0)
        throw EndedAs(TrialStatus::timeout, with_last_words(fmt::format("the backend {} did not send '{}' within {:g} s", name_, type, waiting.seconds)));
      wait(std::clamp(static_cast<int>(std::ceil(left * 1000)), 1, kTickMilliseconds));
    }
  } catch (const WrongMessage& wrong) {
    throw Error(fmt::format("the backend {} {}", name_, wrong.what()));
  }
}

std::vector<pid_t> BackendProcess::own_descendants() const {
  std::vector<pid_t> own;
  for (const pid_t process : descendants())
    if (std::find(others_.begin(), others_.end(), process) == others_.end()) own.push_back(process);
  return own;
}

void BackendProcess::finish(double seconds) {
  requests_.close();
  const double begin = now();
  double ended = 0;                 // when the program itself did
  for (;;) {
    read_log();
    read_answers();
    reap();
    if (status_ && ended == 0) ended = now();
    const std::vector<pid_t> left = own_descendants();
    if (left.empty() && status_) break;
    if (!status_ && now() - begin > seconds) throw Error(fmt::format("the backend {} did not end within {:g} s after its last answer", name_, seconds));
    if (status_ && now() - ended > std::min(kSecondsForOthers, seconds))
      throw Error(fmt::format("the backend {} left {} process{} running when it ended; it must end what it starts", name_, left.size(),
                              left.size() == 1 ? "" : "es"));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (*status_ != 0) throw_ended();
}

double BackendProcess::processor_seconds() const { return descendants_seconds() - seconds_before_; }

void BackendProcess::end_all() noexcept {
  try {
    requests_.close();
    // A process that is killed may have started another one just before.
    for (int round = 0; round < 400; ++round) {
      reap();
      const std::vector<pid_t> left = own_descendants();
      if (left.empty() && (status_ || id_ < 0)) return;
      for (const pid_t process : left) kill(process, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  } catch (const std::exception&) {
    if (!status_ && id_ > 0) kill(id_, SIGKILL);
  }
}

}  // namespace mgcompare
