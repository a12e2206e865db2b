#include "hosts/host_network.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

// Returns what the command prints, and its failure in `problem` if it is the first.
std::string run(const std::string& command, std::string* problem = nullptr) {
  std::string text;
  std::FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  char bytes[4096];
  for (std::size_t count; (count = std::fread(bytes, 1, sizeof(bytes), pipe)) > 0;) text.append(bytes, count);
  if (pclose(pipe) != 0 && problem != nullptr && problem->empty()) *problem = command + ": " + text;
  return text;
}

// Its first argument is the host, the others are the command for the host's shell.
std::string agent_text(const std::string& folder, const std::string& first = "") {
  return "#!/bin/sh\nhost=$1; shift\n" + first +
         "exec ip netns exec \"$host\" unshare --uts sh -c 'hostname \"$0\"; export TMPDIR=" + folder +
         "/$0; exec sh -c \"$*\"' \"$host\" \"$@\"\n";
}

}  // namespace

HostNetwork::HostNetwork(std::size_t hosts) {
  if (geteuid() != 0) {
    problem_ = "only root can make network namespaces";
    return;
  }
  // Short: the paths of sockets are limited.
  std::string pattern = "/tmp/mgchXXXXXX";
  folder_ = mkdtemp(pattern.data());
  const std::string base = fmt::format("mgc{}", getpid());
  switch_name_ = base + "s";
  run("ip netns add " + switch_name_, &problem_);
  run(fmt::format("ip -n {0} link add br0 type bridge && ip -n {0} link set br0 up", switch_name_), &problem_);
  for (std::size_t host = 0; host < hosts && problem_.empty(); ++host) {
    const std::string& name = names_.emplace_back(fmt::format("{}h{}", base, host));
    fs::create_directories(folder_ / name);
    run(fmt::format("ip netns add {}", name), &problem_);
    run(fmt::format("ip link add eth0 netns {} type veth peer name port{} netns {}", name, host, switch_name_), &problem_);
    run(fmt::format("ip -n {0} link set port{1} master br0 && ip -n {0} link set port{1} up", switch_name_, host), &problem_);
    run(fmt::format("ip -n {0} addr add 10.77.0.{1}/24 dev eth0 && ip -n {0} link set eth0 up && ip -n {0} link set lo up", name, host + 1), &problem_);
  }
  std::ofstream(folder_ / "agent") << agent_text(folder_.string());
  fs::permissions(folder_ / "agent", fs::perms::owner_all);
  if (problem_.empty() && hosts > 1) try_mpirun();
}

// Without mgcompare: where this fails, the machine cannot have such hosts.
void HostNetwork::try_mpirun() {
  std::ofstream(folder_ / "try") << script();
  run(fmt::format(R"sh(sh -c "$(cat {}/try)" timeout 30 mpirun --allow-run-as-root --host {}:1,{}:1 -np 2 --mca pml ob1 --mca btl tcp,self hostname)sh",
                  folder_.string(), name(0), name(1)),
      &problem_);
}

HostNetwork::~HostNetwork() {
  for (const std::string& name : names_) run("ip netns del " + name);
  if (!switch_name_.empty()) run("ip netns del " + switch_name_);
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

std::string HostNetwork::names() const { return fmt::format("{}", fmt::join(names_, ",")); }

std::string HostNetwork::script() const {
  return fmt::format("export OMPI_MCA_plm_rsh_agent={0}/agent OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_oob_tcp_if_include=eth0 TMPDIR={0}/{1}\n"
                     "exec ip netns exec {1} unshare --uts sh -c 'hostname {1}; exec \"$0\" \"$@\"' \"$0\" \"$@\"",
                     folder_.string(), names_.front());
}

void HostNetwork::hide(const std::string& folder) const {
  std::ofstream(folder_ / "agent") << agent_text(folder_.string(), fmt::format("if [ -z \"$HIDDEN\" ]; then export HIDDEN=1; exec unshare --mount sh -c "
                                                                               "'mount -t tmpfs none {} && exec \"$0\" \"$@\"' \"$0\" \"$host\" \"$@\"; fi\n",
                                                                               folder));
}

void HostNetwork::set_variable(const std::string& assignment) const {
  std::ofstream(folder_ / "agent") << agent_text(folder_.string(), "export " + assignment + "\n");
}

std::string HostNetwork::run_on(std::size_t host, const std::string& command) const {
  return run(fmt::format("ip netns exec {0} unshare --uts sh -c 'hostname {0}; {1}'", name(host), command));
}

std::uint64_t HostNetwork::bytes_sent(std::size_t host) const {
  return std::stoull(run(fmt::format("ip netns exec {} cat /sys/class/net/eth0/statistics/tx_bytes", name(host))));
}

void HostNetwork::set_link(std::size_t host, bool up) const {
  run(fmt::format("ip -n {} link set port{} {}", switch_name_, host, up ? "up" : "down"));
}

std::vector<int> HostNetwork::processes(std::size_t host, const std::string& text) const {
  std::istringstream found(run("ip netns pids " + name(host)));
  std::vector<int> ids;
  for (int id; found >> id;) {
    std::ifstream file(fmt::format("/proc/{}/cmdline", id));
    const std::string line{std::istreambuf_iterator<char>(file), {}};
    if (line.find(text) != std::string::npos) ids.push_back(id);
  }
  return ids;
}

}  // namespace mgcompare
