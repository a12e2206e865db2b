#include "process/mpirun.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error_text.h"
#include "base/library_variables.h"
#include "base/program_search.h"
#include "base/text.h"
#include "mgcompare/error.h"
#include "process/child.h"

namespace mgcompare {
namespace {

std::string mpirun_program() {
  const std::string program = find_program("mpirun");
  if (program.empty())
    throw Error("several hosts need mpirun, and there is none on PATH: install Open MPI 4 on every host (Debian: apt-get install openmpi-bin)");
  return program;
}

// Settings of the user's environment have precedence: the variable OMPI_MCA_x replaces `--mca x`.
void add_setting(std::vector<std::string>& words, const std::string& name, const std::string& value) {
  if (std::getenv(("OMPI_MCA_" + name).c_str()) == nullptr) words.insert(words.end(), {"--mca", name, value});
}

std::vector<std::string> words_of(HostLauncher launcher, const std::vector<std::string>& hosts, const std::vector<std::string>& arguments) {
  std::vector<std::string> slots;
  for (const std::string& host : hosts) slots.push_back(host + ":1");
  std::vector<std::string> words = {mpirun_program(), "--host", fmt::format("{}", fmt::join(slots, ",")), "-np", std::to_string(hosts.size()),
                                    "--map-by", "ppr:1:node", "--bind-to", "none"};
  // Within an allocation srun starts Open MPI's daemons; by ssh, the hosts need not belong to one. Containers set `isolated`, which starts none.
  if (const char* const plm = std::getenv("OMPI_MCA_plm"); plm != nullptr && std::string_view(plm) == "isolated") unsetenv("OMPI_MCA_plm");
  add_setting(words, "plm", launcher == HostLauncher::slurm ? "slurm" : "rsh");
  if (launcher != HostLauncher::slurm) add_setting(words, "ras", "^slurm");
  add_setting(words, "pml", "ob1");
  add_setting(words, "btl", "tcp,self");
  // Messages of gradients in few fragments: with the defaults of 64 and 128 KiB, an exchange of 1.7 MB takes about twice as long.
  for (const char* name : {"btl_tcp_eager_limit", "btl_tcp_rndv_eager_limit", "btl_tcp_max_send_size"}) add_setting(words, name, std::to_string(1 << 20));
  // ssh must not ask, and must not wait for longer than a start may take. Another agent has other options.
  if (std::getenv("OMPI_MCA_plm_rsh_agent") == nullptr) add_setting(words, "plm_rsh_args", "-o BatchMode=yes -o ConnectTimeout=10");
  // So that the daemon of a host without a link to this one ends.
  add_setting(words, "oob_tcp_keepalive_time", "5");
  add_setting(words, "oob_tcp_keepalive_intvl", "2");
  add_setting(words, "oob_tcp_keepalive_probes", "3");
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (name.starts_with("MGCOMPARE_")) words.insert(words.end(), {"-x", std::string(name)});
  }
  // A difference that remains is refused when the hosts are compared.
  for (const auto& [name, value] : library_variables())
    if (!is_of_one_host(name)) words.insert(words.end(), {"-x", name});
  words.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

// The hosts that a part of the output names.
std::vector<std::string> named_in(const std::string& text, const std::vector<std::string>& hosts) {
  const auto is_part_of_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.'; };
  std::vector<std::string> found;
  for (const std::string& host : hosts) {
    for (std::size_t at = text.find(host); at != text.npos; at = text.find(host, at + 1)) {
      const std::size_t end = at + host.size();
      if ((at > 0 && is_part_of_name(text[at - 1])) || (end < text.size() && is_part_of_name(text[end]) && text[end] != '.')) continue;
      found.push_back(host);
      break;
    }
  }
  return found;
}

// A line that a program prints, and what it means for a host.
struct Symptom {
  std::string_view text, meaning, advice;
};

constexpr Symptom kSymptoms[] = {
    {"Could not resolve hostname", "is not known here: ssh cannot find the address of that name", "correct the name in --hosts, or add it to /etc/hosts"},
    {"Host key verification failed", "has a host key that ssh does not know", "connect once with `ssh HOST` and accept it"},
    {"Permission denied", "does not let ssh in without a password", "install a key with `ssh-copy-id HOST`"},
    {"Connection refused", "has no ssh server", "start one there"},
    {"Connection timed out", "cannot be reached by ssh", "check that it is on and that no firewall blocks port 22"},
    {"No route to host", "cannot be reached by ssh", "check the network between the hosts"},
    {"error while loading shared libraries", "lacks a library of the program, or has another version of MPI", "install the same packages on every host"},
    {"orted: not found", "has no Open MPI", "install Open MPI 4 there (Debian: apt-get install openmpi-bin)"},
    {"orted: command not found", "has no Open MPI", "install Open MPI 4 there (Debian: apt-get install openmpi-bin)"},
    {"orted: No such file or directory", "has no Open MPI", "install Open MPI 4 there (Debian: apt-get install openmpi-bin)"},
    {"unable to find", "does not have this program at the same path", "install the same build there"},
    {"could not access", "does not have this program at the same path", "install the same build there"},
    {"Too many open files", "lets a process open too few files", "raise the limit there (ulimit -n)"},
    {"None of the TCP networks", "lacks the network that OMPI_MCA_oob_tcp_if_include names or has it down", "name a network that all hosts have"},
};

// A worker that lacks this ends by itself, too.
constexpr Symptom kNoSpace = {"PMIX ERROR: OUT-OF-RESOURCE", "cannot write to its temporary folder",
                              "free space there, raise its limit on the size of files (ulimit -f), or name another folder in TMPDIR"};

// What mpirun prints of the first worker that ended by itself: by a signal, with another code than 0, or by exit(0).
constexpr std::string_view kKilled = "exited on signal", kFailed = "exited with non-zero status", kLeft = "exiting improperly";

// A name of ssh's own before "command not found" or as a missing agent.
constexpr std::string_view kNoSsh[] = {"plm_rsh_agent", "ssh: not found", "neither ssh nor rsh", "unable to find ssh"};

std::string line_with(const std::string& output, std::size_t at) {
  const std::size_t begin = output.rfind('\n', at) + 1;
  return output.substr(begin, output.find('\n', at) - begin);
}

// The sentence that a worker printed before it ended itself: a line of its own.
std::string own_sentence(const std::string& output) {
  constexpr std::string_view kOwn = "mgcompare: ";
  for (std::size_t at = output.find(kOwn); at != output.npos; at = output.find(kOwn, at + 1))
    if (at == 0 || output[at - 1] == '\n') return plain(line_with(output, at).substr(kOwn.size()));
  return "";
}

std::string subject(const std::vector<std::string>& hosts) {
  return hosts.empty() ? "a host" : fmt::format("host {}", fmt::join(hosts, ", "));
}

// The name of "[[34758,1],1]" or "process rank 1", whose last number is that of the host.
std::vector<std::string> host_of_rank(std::string_view text, std::string_view before, const std::vector<std::string>& hosts) {
  const std::size_t at = text.find(before);
  if (at == text.npos) return {};
  std::string_view rest = text.substr(at + before.size());
  rest = rest.substr(0, rest.find('\n'));
  if (const std::size_t comma = rest.rfind(','); before.ends_with(':') && comma != rest.npos) rest.remove_prefix(comma + 1);
  std::size_t number = hosts.size();
  std::from_chars(rest.data(), rest.data() + rest.size(), number);
  return number < hosts.size() ? std::vector{hosts[number]} : std::vector<std::string>();
}

std::optional<HostFailure> explain_symptom(const Symptom& symptom, const std::string& output, const std::vector<std::string>& hosts) {
  const std::size_t at = output.find(symptom.text);
  if (at == output.npos) return std::nullopt;
  std::vector<std::string> named = named_in(line_with(output, at), hosts);
  if (named.empty()) named = named_in(output.substr(at), hosts);
  return HostFailure{fmt::format("{} {}; {}", subject(named), symptom.meaning, symptom.advice), named};
}

HostFailure crash(const std::vector<std::string>& hosts, const std::string& how) {
  return {fmt::format("the worker of {} ended by itself ({})", subject(hosts), plain(how)), {}, true};
}

// Of the first worker that ended by itself, if one did.
std::optional<HostFailure> explain_end(const std::string& output, const std::vector<std::string>& hosts) {
  if (const std::size_t at = output.find(kKilled); at != output.npos) {
    const std::string line = line_with(output, at);
    std::string how = line.substr(line.find(kKilled));
    if (how.ends_with('.')) how.pop_back();
    const std::vector<std::string> named = named_in(line, hosts);
    return crash(named.empty() ? host_of_rank(line, "process rank ", hosts) : named, how);
  }
  if (const std::size_t at = output.find(kFailed); at != output.npos) {
    constexpr std::string_view kCode = "Exit code:";
    const std::string after = output.substr(at);
    const std::size_t code = after.find(kCode);
    const std::string line = code == after.npos ? "" : line_with(after, code);
    const std::size_t digit = line.find_first_of("0123456789");
    return crash(host_of_rank(after, "Process name:", hosts), digit == line.npos ? "an exit code that is not 0" : "exit code " + line.substr(digit));
  }
  if (const std::size_t at = output.find(kLeft); at != output.npos) {
    const std::size_t sentence = output.rfind("process rank ", at);
    return crash(sentence == output.npos ? std::vector<std::string>() : host_of_rank(output.substr(sentence), "process rank ", hosts), "exit code 0");
  }
  return std::nullopt;
}

}  // namespace

Mpirun::Mpirun(HostLauncher launcher, const std::vector<std::string>& hosts, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = words_of(launcher, hosts, arguments);
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) throw Error("cannot start mpirun: " + error_text(errno));
  output_ = Descriptor(pipe_ends[0]);
  Descriptor writing(pipe_ends[1]);
  fcntl(output_.number(), F_SETFL, O_NONBLOCK);
  // mpirun refuses to run as root otherwise.
  if (geteuid() == 0)
    for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"}) setenv(name, "1", 1);
  const std::vector<char*> list = exec_list(words);
  id_ = fork();
  if (id_ < 0) throw Error("cannot start mpirun: " + error_text(errno));
  if (id_ == 0) {
    // Only async-signal-safe calls. A group of its own: it ends the workers itself, when it is told to.
    setpgid(0, 0);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, STDIN_FILENO);
    dup2(writing.number(), STDOUT_FILENO);
    dup2(writing.number(), STDERR_FILENO);
    close_range(STDERR_FILENO + 1, ~0u, 0);
    execv(list[0], list.data());
    _exit(127);
  }
  watch_ = watch_child(id_, "mpirun");
}

Mpirun::~Mpirun() { stop(std::chrono::milliseconds(1500)); }

void Mpirun::stop(std::chrono::milliseconds grace) {
  if (id_ < 0) return;
  kill(id_, SIGTERM);
  pollfd watch{watch_.number(), POLLIN, 0};
  if (poll(&watch, 1, static_cast<int>(grace.count())) <= 0) kill(-id_, SIGKILL);
  waitpid(id_, nullptr, 0);
  id_ = -1;
}

HostFailure explain_mpirun(const std::string& output, const std::vector<std::string>& hosts) {
  for (const std::string_view text : kNoSsh)
    if (output.find(text) != output.npos)
      return {"mpirun cannot start workers on other hosts because there is no ssh here: install it (Debian: apt-get install openssh-client)", {}};
  // When a worker is killed, the others may complain of the connection to it.
  const bool is_killed = output.find(kKilled) != output.npos;
  if (const std::string own = own_sentence(output); !own.empty() && !is_killed) return {own, {}};
  if (const std::optional<HostFailure> failure = is_killed ? std::nullopt : explain_symptom(kNoSpace, output, hosts)) return *failure;
  if (const std::optional<HostFailure> end = explain_end(output, hosts)) return *end;
  for (const std::string_view text : {"lost communication", "Lost connection"}) {
    const std::size_t at = output.find(text);
    if (at == output.npos) continue;
    std::vector<std::string> named = named_in(line_with(output, at), hosts);
    if (named.empty()) named = named_in(output.substr(at), hosts);
    // Both ends of a connection that broke are named; this one is not the one that is lost.
    if (named.size() > 1) std::erase(named, hosts.front());
    return {fmt::format("the connection to {} is lost; check the host and its network", subject(named)), named};
  }
  for (const Symptom& symptom : kSymptoms)
    if (const std::optional<HostFailure> failure = explain_symptom(symptom, output, hosts)) return *failure;
  // The first line is nearest to the cause.
  const std::size_t first = output.find_first_not_of("\n- ");
  const std::string cause = first == output.npos ? "" : fmt::format(" (\"{}\")", plain(line_with(output, first)));
  if (output.find("unable to reliably start") != output.npos)
    return {fmt::format("a host did not let mpirun start a worker{}; check that it can be reached (by `ssh HOST` without a password, or by srun under Slurm), "
                        "and that it has Open MPI",
                        cause),
            {}};
  return {fmt::format("mpirun ended, and with it the workers of all hosts{}; see worker.log of the run", cause), {}};
}

HostFailure explain_silence(const std::string& output, const std::vector<std::string>& hosts, double seconds) {
  if (output.find("ssh:") != output.npos) return explain_mpirun(output, hosts);
  const std::vector<std::string> others(hosts.begin() + 1, hosts.end());
  return {fmt::format("the workers of host {} did not connect to this machine within {:g} s: a firewall between the hosts is likely; allow TCP "
                      "connections between them, or name the network to use in OMPI_MCA_btl_tcp_if_include and OMPI_MCA_oob_tcp_if_include",
                      fmt::join(others, ", "), seconds), {}};
}

}  // namespace mgcompare
