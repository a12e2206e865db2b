#pragma once

// A Slurm cluster for tests: its daemons on the hosts of a HostNetwork, with settings and a key of their own.

#include <string>

#include "hosts/host_network.h"

namespace mgcompare {

class SlurmCluster {
 public:
  explicit SlurmCluster(const HostNetwork& network);
  ~SlurmCluster();
  SlurmCluster(const SlurmCluster&) = delete;
  SlurmCluster& operator=(const SlurmCluster&) = delete;

  // Why there is none; empty if there is.
  const std::string& problem() const { return problem_; }
  // The file that SLURM_CONF names for Slurm's commands.
  std::string settings() const { return folder_ + "/slurm.conf"; }

 private:
  void write_settings(const HostNetwork& network) const;
  void wait_for_hosts(const HostNetwork& network);

  std::string folder_, problem_;
};

}  // namespace mgcompare
