#include "services/host_worker.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/library_variables.h"
#include "base/sha256.h"
#include "mgcompare/contract.h"
#include "mgcompare/error.h"
#include "modules/module_file.h"
#include "modules/platform_host.h"
#include "modules/transport_host.h"
#include "process/guardian.h"
#include "process/host_job.h"
#include "process/worker.h"
#include "results/cause.h"
#include "results/result.h"
#include "services/host_link.h"
#include "services/host_survey.h"
#include "services/trial_service.h"
#include "train/sent_data.h"
#include "train/session.h"

namespace mgcompare {
namespace {

// On the hosts other than the first: nobody listens to progress, and the answer goes to the first host.
class RemoteContext : public RequestContext {
 public:
  explicit RemoteContext(HostLink& link) : link_(link) {}
  void report(const Progress&) override {}
  void note(const nlohmann::json&) override {}
  bool stopping() const override { return false; }
  LivePosition& position() override { return position_; }
  [[noreturn]] void leave(const nlohmann::json& answer) override {
    nlohmann::json body = answer;
    body[kEnds] = true;
    link_.answer(body);
    // Whoever ends first ends the job, and the first host has yet to tell the runner.
    for (;;) pause();
  }

 private:
  HostLink& link_;
  LivePosition position_;
};

// Another one for each start of a machine; all containers of a machine have the same.
std::string boot_id() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id;
}

// What must be equal on all hosts, and what each has.
nlohmann::json description() {
  nlohmann::json devices = nlohmann::json::object(), problems = nlohmann::json::object();
  for (const PlatformSummary& platform : find_platforms()) {
    devices[platform.kind] = platform.devices.size();
    if (!platform.problem.empty()) problems[platform.kind] = platform.problem;
  }
  std::string build = MGCOMPARE_CONTRACT;
  for (const std::string& file : {std::string("/proc/self/exe"), module_file("platform_cpu"), module_file("transport_mpi")}) build += " " + sha256_of_file(file);
  return {{"build", build}, {"devices", devices}, {"problems", problems}, {"variables", library_variables()}, {"boot", boot_id()}};
}

// Connects all pairs of hosts, which MPI does when they first need each other. So what it holds is the same before and after a trial. The
// data are long enough to use every network between two hosts.
void open_connections(Transport& hosts) {
  constexpr std::size_t kBytes = 256 << 10;
  const std::vector<char> own(kBytes);
  std::vector<char> received(kBytes * hosts.hosts());
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (std::size_t host = 0; host < hosts.hosts(); ++host) {
    if (host == hosts.host()) continue;
    out.push_back({host, own.data(), kBytes});
    in.push_back({host, received.data() + kBytes * host, kBytes});
  }
  hosts.exchange(out, in);
}

// The worker of the first host.
class FirstHost {
 public:
  explicit FirstHost(const HostWorkerSettings& settings) : settings_(settings) {}

  // Called when the process has its guardian.
  void connect() {
    transport_ = &transport();
    open_connections(*transport_);
    link_ = std::make_unique<HostLink>(*transport_, settings_.names, settings_.timeout);
  }

  Handlers handlers() {
    base_ = trial_handlers(session_, [this](const Trial& trial) { return HostSpan{transport_, trial.hosts, 0}; });
    return {{"trial", [this](const nlohmann::json& body, RequestContext& context) { return run_trial(body, context); }},
            {"data", [this](const nlohmann::json& body, RequestContext& context) { return compare_data(body, context); }},
            {"hosts", [this](const nlohmann::json& body, RequestContext&) { return compare_hosts(body); }},
            {"survey", [this](const nlohmann::json& body, RequestContext& context) { return survey(body, context); }}};
  }

  void end() {
    link_->end_others();
    transport_->finish();
  }

 private:
  // Replaces the answer of a trial that another host ended.
  class Watching : public RequestContext {
   public:
    Watching(FirstHost& host, RequestContext& context) : host_(host), context_(context) {}
    void report(const Progress& progress) override { context_.report(progress); }
    void note(const nlohmann::json& note) override { context_.note(note); }
    bool stopping() const override { return context_.stopping(); }
    LivePosition& position() override { return context_.position(); }
    [[noreturn]] void leave(const nlohmann::json& answer) override {
      context_.leave(host_.explained(answer));
      std::abort();                 // the compiler does not know that it does not return
    }

   private:
    FirstHost& host_;
    RequestContext& context_;
  };

  nlohmann::json run_trial(const nlohmann::json& body, RequestContext& context) {
    const auto hosts = std::max<std::size_t>(1, body.at("trial").value("hosts", std::size_t{1}));
    if (hosts > transport_->hosts()) throw Error(fmt::format("the trial needs {} hosts, and the job has {}; start a new run", hosts, transport_->hosts()));
    if (body.at("send_data").get<bool>() && !has_sent_)
      compare_data({{"config", body.at("trial").at("config")}, {"data_folder", body.at("data_folder")}, {"send_data", true}}, context);
    link_->ask(hosts, {"trial", body});
    Watching watching(*this, context);
    nlohmann::json own = base_.at("trial")(body, watching);
    // The others may wait for this one in an exchange, and take no further request.
    if (own.at("status") != to_string(TrialStatus::done)) watching.leave(own);
    const std::vector<nlohmann::json> others = link_->answers(hosts);
    for (std::size_t i = 0; i < others.size(); ++i) {
      const std::string left = others[i].value(kLeftBehind, "");
      if (!left.empty() && !own.contains(kLeftBehind)) own[kLeftBehind] = fmt::format("{} on host {}", left, link_->names()[i + 1]);
    }
    return explained(own);
  }

  // With the cause of the host that ended the trial, if it is another one.
  nlohmann::json explained(nlohmann::json answer) {
    const std::optional<HostTrouble> trouble = link_->trouble();
    if (!trouble || answer.at("status") == to_string(TrialStatus::interrupted)) return answer;
    Result result;
    result.status = trouble->status;
    result.cause = trouble->sentence;
    nlohmann::json replaced = result;
    if (trouble->is_silent) replaced[kLostHosts] = {link_->names()[trouble->host]};
    return replaced;
  }

  // Every host must have the same samples, or gets them from this one.
  nlohmann::json compare_data(const nlohmann::json& body, RequestContext& context) {
    const bool sends = body.at("send_data").get<bool>();
    // Without a note from time to time the runner would take a download on another host for a standstill.
    const auto wait = [&] { context.note({{"waiting", "data of the other hosts"}}); };
    if (!sends) link_->ask(transport_->hosts(), {"data", body});
    const nlohmann::json own = base_.at("data")(body, context);
    if (sends) {
      // Only now: the others wait for the samples.
      link_->ask(transport_->hosts(), {"data", body});
      const DataConfig config = body.at("config").get<Config>().data;
      try {
        send_data({transport_, transport_->hosts(), 0}, session_.data(config, {}, {}), wait);
      } catch (const Aborted&) {
        throw_trouble();
      }
      has_sent_ = true;
    }
    const std::vector<nlohmann::json> others = expect_answers(wait);
    for (std::size_t i = 0; i < others.size(); ++i) {
      const std::string& name = link_->names()[i + 1];
      if (others[i].contains("problem"))
        throw Error(fmt::format("host {} cannot read the data{}: {}", name, sends ? "" : " (--send-data sends those of this machine)",
                                others[i].at("problem").get<std::string>()));
      if (others[i].at("fingerprint") != own.at("fingerprint"))
        throw Error(fmt::format("host {} has other data than this machine: {} ({}) differs; copy the files to the same place on every host, or add --send-data",
                                name, others[i].at("name").get<std::string>(), others[i].at("origin").get<std::string>()));
    }
    return own;
  }

  // In a handler of Aborted: a host that failed, or is lost, has told why.
  [[noreturn]] void throw_trouble() {
    if (const std::optional<HostTrouble> trouble = link_->trouble()) throw Error(trouble->sentence);
    throw;
  }

  // `devices`: how many of each kind the trials need on a host.
  nlohmann::json compare_hosts(const nlohmann::json& body) {
    link_->ask(transport_->hosts(), {"hosts", nullptr});
    const nlohmann::json own = description();
    const std::vector<nlohmann::json> others = expect_answers();
    for (std::size_t i = 0; i < others.size(); ++i) {
      const std::string& name = link_->names()[i + 1];
      if (others[i].at("build") != own.at("build"))
        throw Error(fmt::format("host {} has another build of mgcompare; install the build of this machine there", name));
      const auto variables = [](const nlohmann::json& host) {
        auto all = host.at("variables").get<std::map<std::string, std::string>>();
        std::erase_if(all, [](const auto& variable) { return is_of_one_host(variable.first); });
        return all;
      };
      if (const std::string differs = different_variable(variables(others[i]), variables(own), "on this machine"); !differs.empty())
        throw Error(fmt::format("host {} has {}: libraries read this variable, and may compute differently there; set it to the same value, for instance in "
                                "the start file of the shell on {}", name, differs, name));
      for (const auto& [kind, count] : body.at("devices").items()) {
        const auto has = others[i].at("devices").value(kind, std::size_t{0}), needs = count.get<std::size_t>();
        const std::string problem = others[i].at("problems").value(kind, std::string());
        if (has < needs)
          throw Error(fmt::format("host {} has {} {} device{}{}, and scaling.devices asks for {} on each host; ask for fewer, or leave the host out", name, has,
                                  kind, has == 1 ? "" : "s", problem.empty() ? "" : fmt::format(" ({})", problem), needs));
      }
    }
    std::map<std::string, std::vector<std::string>> machines;
    machines[own.at("boot")].push_back(link_->names()[0]);
    for (std::size_t i = 0; i < others.size(); ++i) machines[others[i].at("boot")].push_back(link_->names()[i + 1]);
    std::vector<std::string> warnings;
    for (const auto& [boot, names] : machines)
      if (!boot.empty() && names.size() > 1)
        warnings.push_back(
            fmt::format("{} are one machine: unless each has cores of its own, their ranks share them, and what is measured between them is no network",
                        fmt::join(names, " and ")));
    return {{"transport", transport_->version()}, {"warnings", warnings}};
  }

  nlohmann::json survey(const nlohmann::json& body, RequestContext& context) {
    link_->ask(transport_->hosts(), {"survey", body});
    nlohmann::json hosts = nlohmann::json::array();
    try {
      hosts.push_back(survey_own_host(body.at("measures").get<bool>(), {transport_, transport_->hosts(), 0},
                                      [&](const std::string& what) { context.note({{"step", what}}); }));
    } catch (const Aborted&) {
      throw_trouble();
    }
    for (nlohmann::json& other : expect_answers([&] { context.note({{"step", "links within the other hosts"}}); })) hosts.push_back(std::move(other));
    return {{"transport", transport_->version()}, {"hosts", hosts}};
  }

  std::vector<nlohmann::json> expect_answers(const std::function<void()>& waiting = {}) {
    std::vector<nlohmann::json> others = link_->answers(transport_->hosts(), waiting);
    if (const std::optional<HostTrouble> trouble = link_->trouble()) throw Error(trouble->sentence);
    return others;
  }

  const HostWorkerSettings& settings_;
  Session session_;
  Transport* transport_ = nullptr;
  std::unique_ptr<HostLink> link_;
  Handlers base_;
  bool has_sent_ = false;           // the samples, in this job
};

// `receive` takes the samples that the first host sends.
nlohmann::json answer_to(const HostRequest& request, Handlers& handlers, RequestContext& context, const std::function<void(const DataConfig&)>& receive) {
  if (request.kind == "hosts") return description();
  const bool receives = request.kind == "data" && request.body.at("send_data").get<bool>();
  try {
    if (receives) receive(request.body.at("config").get<Config>().data);
    nlohmann::json answer = handlers.at(request.kind)(request.body, context);
    if (request.kind == "trial") answer[kEnds] = answer.at("status") != to_string(TrialStatus::done);
    return answer;
  } catch (...) {
    const Cause cause = cause_of(std::current_exception());
    return {{"problem", cause.sentence}, {"status", to_string(cause.status)}, {"cause", cause.sentence}, {kEnds, request.kind != "data" || receives}};
  }
}

int run_other_host(const HostWorkerSettings& settings) {
  split_off_guardian();
  exit_at_once();
  Transport& hosts = transport();
  open_connections(hosts);
  HostLink link(hosts, settings.names, settings.timeout);
  Session session;
  Handlers handlers = trial_handlers(session, [&](const Trial& trial) { return HostSpan{&hosts, trial.hosts, hosts.host()}; });
  handlers["survey"] = [&](const nlohmann::json& body, RequestContext&) {
    return survey_own_host(body.at("measures").get<bool>(), {&hosts, hosts.hosts(), hosts.host()}, [](const std::string&) {});
  };
  RemoteContext context(link);
  const auto receive = [&](const DataConfig& config) { session.adopt(config, receive_data({&hosts, hosts.hosts(), hosts.host()})); };
  while (const std::optional<HostRequest> request = link.next()) link.answer(answer_to(*request, handlers, context, receive));
  hosts.finish();
  // The link still runs.
  std::fflush(nullptr);
  _exit(0);
}

}  // namespace

int run_host_worker(const HostWorkerSettings& settings) {
  try {
    // When the daemon of mpirun ends, the guardian, which this process becomes, ends all.
    prctl(PR_SET_PDEATHSIG, SIGHUP);
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) signal(number, SIG_DFL);
    const char* const number = std::getenv("OMPI_COMM_WORLD_RANK");
    if (number == nullptr) throw Error("mpirun of Open MPI must start this worker; use mgcompare --hosts");
    if (number != std::string_view("0")) return run_other_host(settings);
    join_host_job(settings.socket, settings.position);
    FirstHost first(settings);
    serve(first.handlers(), [&] { first.connect(); });
    first.end();
    std::fflush(nullptr);
    _exit(0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mgcompare: %s\n", error.what());
    return EXIT_FAILURE;
  }
}

}  // namespace mgcompare
