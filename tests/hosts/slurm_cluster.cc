#include "hosts/slurm_cluster.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include <fmt/format.h>

#include "base/program_search.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

constexpr int kSecondsToStart = 30;

void write_key(const std::string& file) {
  std::random_device random;
  std::ofstream key(file, std::ios::binary);
  for (int byte = 0; byte < 1024; ++byte) key.put(static_cast<char>(random()));
  key.close();
  fs::permissions(file, fs::perms::owner_read);
}

}  // namespace

SlurmCluster::SlurmCluster(const HostNetwork& network) : folder_(network.folder().string()) {
  for (const char* program : {"munged", "slurmctld", "slurmd", "sbatch", "scontrol"})
    if (find_program(program).empty()) problem_ = fmt::format("there is no {} (Debian: apt-get install slurm-wlm munge)", program);
  if (!problem_.empty()) return;
  write_settings(network);
  write_key(folder_ + "/key");
  for (const char* name : {"state", "munge"}) fs::create_directories(folder_ + "/" + name);
  network.run_on(
      0, fmt::format("munged --force --key-file={0}/key --socket={0}/munge.socket --pid-file={0}/munge/pid --log-file={0}/munge/log --seed-file={0}/munge/seed",
                     folder_));
  network.run_on(0, fmt::format("slurmctld -f {}", settings()));
  for (std::size_t host = 0; host < 2; ++host) {
    fs::create_directories(fmt::format("{}/spool.{}", folder_, network.name(host)));
    network.run_on(host, fmt::format("slurmd -N {} -f {} </dev/null >/dev/null", network.name(host), settings()));
  }
  wait_for_hosts(network);
}

SlurmCluster::~SlurmCluster() {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder_)) {
    if (entry.path().extension() != ".pid" && entry.path().filename() != "pid") continue;
    int id = 0;
    if (std::ifstream(entry.path()) >> id && id > 1) kill(id, SIGKILL);
  }
}

void SlurmCluster::write_settings(const HostNetwork& network) const {
  std::ofstream file(settings());
  file << fmt::format("ClusterName=test\nSlurmctldHost={1}(10.77.0.1)\nAuthType=auth/munge\nAuthInfo=socket={0}/munge.socket\nSlurmUser=root\nSlurmdUser=root\n"
                      "StateSaveLocation={0}/state\nSlurmdSpoolDir={0}/spool.%n\nSlurmctldPidFile={0}/slurmctld.pid\nSlurmdPidFile={0}/slurmd.%n.pid\n"
                      "SlurmctldLogFile={0}/slurmctld.log\nSlurmdLogFile={0}/slurmd.%n.log\nProctrackType=proctrack/pgid\nTaskPlugin=task/none\n"
                      "SchedulerType=sched/builtin\nSelectType=select/linear\nSwitchType=switch/none\nMpiDefault=none\nReturnToService=2\n",
                      folder_, network.name(0));
  for (std::size_t host = 0; host < 2; ++host) file << fmt::format("NodeName={} NodeAddr=10.77.0.{} CPUs=1 State=UNKNOWN\n", network.name(host), host + 1);
  file << "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n";
  // Without a mounted hierarchy, which a network namespace lacks.
  std::ofstream(folder_ + "/cgroup.conf") << "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\nConstrainCores=no\n";
}

void SlurmCluster::wait_for_hosts(const HostNetwork& network) {
  for (int round = 0; round < 10 * kSecondsToStart; ++round) {
    problem_ = network.run_on(0, fmt::format("SLURM_CONF={} timeout 10 sinfo --noheader --format=%T", settings()));
    if (problem_ == "idle\n") {
      problem_.clear();
      return;
    }
    usleep(100'000);
  }
  problem_ = "the hosts of Slurm do not become idle: " + problem_;
}

}  // namespace mgcompare
