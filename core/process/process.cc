#include "process/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/error_text.h"
#include "base/number_text.h"
#include "mgcompare/error.h"

namespace mgcompare {
namespace {

constexpr rlim_t kLeastStack = rlim_t{256} << 10;
constexpr rlim_t kLeastFiles = 32;
constexpr rlim_t kLeastAddressSpace = rlim_t{384} << 20;  // two ranks of a small network need about this

// The running children. Only the main thread starts and reaps children.
std::vector<pid_t> live_children;

void forget(pid_t id) { std::erase(live_children, id); }

bool is_owned(pid_t id) { return std::find(live_children.begin(), live_children.end(), id) != live_children.end(); }

[[noreturn]] void fail_to_start(const char* what) {
  const int code = errno;
  throw Error(fmt::format("cannot start a worker process: {}: {}{}", what, error_text(code),
                          is_limit(code) ? "" : "; end other processes and run the command again"));
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& additions) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!additions.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : additions) all.push_back(name + "=" + value);
  return all;
}

struct ChildSide {
  pid_t parent;
  int channel;
  int position;
  int output;
  int nothing;                      // /dev/null
  char* const* arguments;
  char* const* environment;
};

// Between fork and exec only async-signal-safe calls are allowed.
[[noreturn]] void become_child(const ChildSide& side) {
  setpgid(0, 0);
  // HUP comes when the runner ends. The guardian takes it (guardian.cc); until there is one, HUP ends this process.
  signal(SIGHUP, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  // Ignored, which a program inherits, it would keep the processor time of ended processes from being counted.
  signal(SIGCHLD, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGHUP);
  if (getppid() != side.parent) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // These descriptors may themselves have the numbers 0 to 4: move them first.
  const int channel = fcntl(side.channel, F_DUPFD, 10), nothing = fcntl(side.nothing, F_DUPFD, 10);
  const int position = fcntl(side.position, F_DUPFD, 10);
  const int output = side.output < 0 ? -1 : fcntl(side.output, F_DUPFD, 10);
  dup2(nothing, STDIN_FILENO);
  if (output >= 0) {
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
  }
  dup2(channel, kChannelDescriptor);
  dup2(position, kPositionDescriptor);
  close_range(kPositionDescriptor + 1, ~0u, 0);
  execve("/proc/self/exe", side.arguments, side.environment);
  _exit(127);
}

pid_t parent_of(pid_t id) {
  std::ifstream file(fmt::format("/proc/{}/stat", id));
  std::string text;
  std::getline(file, text);
  // The name in brackets may contain any character, brackets too.
  const std::size_t end = text.rfind(')');
  if (end == std::string::npos || end + 4 > text.size()) return -1;
  pid_t parent = -1;
  std::from_chars(text.data() + end + 4, text.data() + text.size(), parent);
  return parent;
}

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (const auto id = parse_number<pid_t>(name); id && parent_of(*id) == getpid()) found.push_back(*id);
  }
  return found;
}

// What this process had before it started any: it may have taken the place of a shell by exec, with `> >(tee log)` for example.
const std::vector<pid_t>& inherited() {
  static const std::vector<pid_t> all = children();
  return all;
}

std::vector<pid_t> strays() {
  std::vector<pid_t> found = children();
  const std::vector<pid_t>& others = inherited();
  std::erase_if(found, [&](pid_t id) { return is_owned(id) || std::find(others.begin(), others.end(), id) != others.end(); });
  return found;
}

}  // namespace

Process::Process(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment,
                 Output output) {
  int channel[2], pipe_ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) != 0) fail_to_start("no socket pair");
  channel_ = Descriptor(channel[0]);
  Descriptor child_channel(channel[1]);
  // A worker that no longer reads must not block the runner.
  const timeval timeout{5, 0};
  setsockopt(channel[0], SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
  if (output == Output::piped && pipe2(pipe_ends, O_CLOEXEC) != 0) fail_to_start("no pipe");
  output_ = Descriptor(pipe_ends[0]);
  Descriptor child_output(pipe_ends[1]);
  if (output == Output::piped) fcntl(pipe_ends[0], F_SETFL, O_NONBLOCK);
  const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (nothing.number() < 0) fail_to_start("/dev/null");

  std::vector<std::string> words = {"mgcompare"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment_with(environment);
  const std::vector<char*> argument_list = exec_list(words), variable_list = exec_list(variables);
  const ChildSide side{getpid(),         child_channel.number(), position_.descriptor(), child_output.number(),
                       nothing.number(), argument_list.data(),   variable_list.data()};
  id_ = fork();
  if (id_ < 0) fail_to_start("no new process");
  if (id_ == 0) become_child(side);
  setpgid(id_, id_);
  watch_ = watch_child(id_, "a worker process");
  live_children.push_back(id_);
}

Process::~Process() {
  if (!ending_) stop(std::chrono::milliseconds(0));
}

std::optional<Ending> Process::wait(std::chrono::milliseconds limit) {
  if (ending_) return ending_;
  const auto end = std::chrono::steady_clock::now() + limit;
  pollfd watch{watch_.number(), POLLIN, 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    const int ready = poll(&watch, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (ready > 0) break;
    if (ready == 0) return std::nullopt;
  }
  // Until the process is reaped no other process can have its number, so this cannot signal a stranger.
  kill(-id_, SIGKILL);
  siginfo_t info{};
  waitid(P_PIDFD, static_cast<id_t>(watch_.number()), &info, WEXITED);
  forget(id_);
  ending_ = info.si_code == CLD_EXITED ? Ending{0, info.si_status} : Ending{info.si_status, 0};
  return ending_;
}

void Process::signal(int number) {
  if (!ending_) kill(-id_, number);
}

Ending Process::stop(std::chrono::milliseconds grace) {
  if (grace.count() > 0) {
    signal(SIGTERM);
    if (const auto ending = wait(grace)) return *ending;
  }
  signal(SIGKILL);
  for (;;) {
    if (const auto ending = wait(std::chrono::seconds(1))) return *ending;
  }
}

void open_standard_streams() {
  // open() returns the lowest free number. Results that are printed nowhere are an error, so stdout is for reading only.
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(number, F_GETFD) < 0) open("/dev/null", number == STDOUT_FILENO ? O_RDONLY : O_RDWR);
}

void require_limits() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < kLeastFiles) {
    throw Error(fmt::format("this process may have {} open files only, and the program needs {}: raise the limit with `ulimit -n`",
                            limit.rlim_cur, kLeastFiles));
  }
  if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < kLeastStack) {
    throw Error(fmt::format("a thread of this process may have a stack of {} KiB only, and the program needs {}: raise the limit with "
                            "`ulimit -s`",
                            limit.rlim_cur >> 10, kLeastStack >> 10));
  }
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < kLeastAddressSpace) {
    throw Error(fmt::format("this process may have {} MiB of address space only, and the program needs {}, and more for large networks or "
                            "many ranks: raise the limit with `ulimit -v`",
                            limit.rlim_cur >> 20, kLeastAddressSpace >> 20));
  }
}

void adopt_orphans() {
  inherited();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void sweep_orphans() {
  // Its own children become children of this process when one is killed: repeat until none is left.
  for (int round = 0; round < 200; ++round) {
    const std::vector<pid_t> found = strays();
    if (found.empty()) return;
    for (const pid_t id : found) {
      kill(id, SIGKILL);
      waitpid(id, nullptr, 0);
    }
  }
}

}  // namespace mgcompare
