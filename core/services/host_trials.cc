#include "services/host_trials.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mgcompare/error.h"

namespace mgcompare {
namespace {

constexpr double kAnswerSeconds = 60, kDataSeconds = 600;
constexpr double kGraceSeconds = 8;   // mpirun ends the workers of all hosts

std::string own_name() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

std::string first_label(const std::string& name) { return name.substr(0, name.find('.')); }

// Debian gives a machine's own name the address 127.0.1.1, which no interface has.
bool is_loopback(const addrinfo& found) {
  const in_addr address = reinterpret_cast<const sockaddr_in*>(found.ai_addr)->sin_addr;
  return ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET;
}

// Whether one of this machine's interfaces has an address of the name.
bool has_address_of(const std::string& name) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET;
  if (getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return false;
  ifaddrs* interfaces = nullptr;
  getifaddrs(&interfaces);
  bool is_own = false;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next)
    for (const ifaddrs* interface = interfaces; interface != nullptr; interface = interface->ifa_next)
      if (interface->ifa_addr != nullptr && interface->ifa_addr->sa_family == AF_INET)
        is_own |= std::memcmp(&reinterpret_cast<const sockaddr_in*>(interface->ifa_addr)->sin_addr,
                              &reinterpret_cast<const sockaddr_in*>(one->ai_addr)->sin_addr, sizeof(in_addr)) == 0;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) is_own |= is_loopback(*one);
  freeifaddrs(interfaces);
  freeaddrinfo(found);
  return is_own;
}

bool is_this_machine(const std::string& name) {
  const std::string own = own_name();
  return name == own || first_label(name) == first_label(own) || has_address_of(name);
}

// Names of other machines may begin alike, so only an address tells.
bool is_other_name_of_this_machine(const std::string& name) { return name == own_name() || has_address_of(name); }

bool is_on_several(const Trial& trial) { return trial.hosts > 1 && trial.unavailable.empty(); }

}  // namespace

HostTrials::HostTrials(const HostsConfig& hosts, SupervisorSettings settings) : hosts_(hosts), settings_(std::move(settings)) {}

void HostTrials::start() {
  if (supervisor_) return;
  SupervisorSettings settings = settings_;
  settings.seconds_grace = kGraceSeconds;
  settings.arguments = {"--host-job", fmt::format("{:g}", hosts_.timeout), std::string(to_string(hosts_.launcher))};
  settings.arguments.insert(settings.arguments.end(), hosts_.names.begin(), hosts_.names.end());
  supervisor_ = std::make_unique<Supervisor>(std::move(settings));
}

void HostTrials::check(const std::vector<Trial>& trials, const Config& config, const TrialFiles& files, const std::string& fingerprint) {
  std::map<std::string, std::size_t> devices;
  for (const Trial& trial : trials) {
    if (!is_on_several(trial)) continue;
    std::size_t& most = devices[std::string(to_string(trial.device_kind))];
    most = std::max(most, trial.devices_per_host());
  }
  if (devices.empty()) return;
  if (!is_this_machine(hosts_.names.front()))
    throw Error(fmt::format("the first host is {}, and this machine is {}: run mgcompare on the first host, or name this machine first", hosts_.names.front(),
                            own_name()));
  for (std::size_t i = 1; i < hosts_.names.size(); ++i)
    if (is_other_name_of_this_machine(hosts_.names[i]))
      throw Error(fmt::format("host {} is this machine, {}, under another name: name each machine once in --hosts or hosts.names", hosts_.names[i], hosts_.names.front()));
  start();
  const auto expect = [](const Reply& reply) {
    if (reply.status == TrialStatus::failed) throw Error(reply.cause);
    return reply.require("the hosts cannot be used", "run the command again");
  };
  expect(supervisor_->ask("hosts", {{"devices", devices}}, kAnswerSeconds));
  const nlohmann::json data = expect(supervisor_->ask("data", {{"config", config}, {"data_folder", files.data_folder}, {"send_data", files.send_data}}, kDataSeconds));
  if (data.at("fingerprint") != fingerprint) throw Error("the data changed while the run began; run the command again");
}

Result HostTrials::run(const Trial& trial, const TrialFiles& files, const std::function<void(const Progress&)>& report) {
  Result result;
  if (trial.hosts > hosts_.names.size()) {
    result.status = TrialStatus::device_lost;
    result.cause = fmt::format("{}; the trial needs {} hosts, {} left", loss_, trial.hosts, hosts_.names.size());
    return result;
  }
  start();
  result = supervisor_->run(trial, files, report);
  for (const std::string& warning : supervisor_->take_warnings()) warnings_.push_back(warning);
  const std::vector<std::string> lost = supervisor_->take_lost_hosts();
  if (lost.empty()) return result;
  const bool are_back = !settings_.interrupted() && can_use_hosts();
  if (settings_.interrupted()) return result;
  if (!are_back) {
    forget(lost);
    return result;
  }
  result.status = TrialStatus::crashed;
  result.cause = fmt::format("the worker of host {} did not answer any more, and a new one does: the strategy stopped it or closed its connections, or the "
                             "network failed for a time; look for stop signals and closed descriptors in the strategy", fmt::join(lost, ", "));
  return result;
}

// A worker can be silent because a plugin stopped it or closed its connections. Then a new job finds the hosts.
bool HostTrials::can_use_hosts() {
  supervisor_.reset();
  start();
  const bool answered = supervisor_->ask("hosts", {{"devices", nlohmann::json::object()}}, kAnswerSeconds).answered();
  if (!answered) supervisor_.reset();
  return answered;
}

void HostTrials::forget(const std::vector<std::string>& lost) {
  supervisor_.reset();
  for (const std::string& name : lost) {
    if (std::erase(hosts_.names, name) == 0) continue;
    lost_.push_back(name);
    loss_ = fmt::format("host {} was lost", fmt::join(lost_, ", "));
    warnings_.push_back(fmt::format("{}; {} left", loss_, fmt::join(hosts_.names, ", ")));
  }
}

std::vector<std::string> HostTrials::take_warnings() { return std::exchange(warnings_, {}); }

}  // namespace mgcompare
