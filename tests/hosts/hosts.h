#pragma once

// For tests of the real program on several hosts, which are network namespaces here.

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "command/rig.h"
#include "hosts/host_network.h"

namespace mgcompare {

inline constexpr char kWorker[] = "--host-worker";

class Hosts : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    if (IsSkipped()) return;
    if (!std::filesystem::exists(std::filesystem::path(MGCOMPARE_BINARY_DIR) / "lib/mgcompare/transport_mpi.so")) GTEST_SKIP() << "built without MPI";
  }

  Program start(const HostNetwork& network, std::vector<std::string> arguments, std::map<std::string, std::string> environment = {}) {
    environment["MGCOMPARE_PLUGIN_PATH"] = std::string(MGCOMPARE_BINARY_DIR) + "/lib/mgcompare/bad_plugins";
    arguments.insert(arguments.begin(), {"-c", network.script(), (std::filesystem::path(MGCOMPARE_BINARY_DIR) / "bin" / "mgcompare").string()});
    return Program(place_.folder(), "/bin/sh", arguments, environment);
  }
  Ended run(const HostNetwork& network, const std::string& config, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {place_.write("hosts.yaml", config), "--hosts", network.names()});
    return start(network, more).wait();
  }
  // Gradients cross the network.
  static void wait_for_training(const HostNetwork& network) {
    constexpr std::uint64_t kSeveralSteps = 1 << 20;
    const std::uint64_t before = network.bytes_sent(1);
    for (int round = 0; round < 600 && network.bytes_sent(1) < before + kSeveralSteps; ++round) usleep(100'000);
    EXPECT_GE(network.bytes_sent(1), before + kSeveralSteps) << "the training did not begin";
  }
  // Nothing of a job is left on any host, at the latest after some seconds.
  static void expect_nothing_left(const HostNetwork& network, std::size_t hosts) {
    for (std::size_t host = 0; host < hosts; ++host) {
      std::vector<int> left;
      for (int round = 0; round < 100 && !(left = network.processes(host, kWorker)).empty(); ++round) usleep(100'000);
      EXPECT_TRUE(left.empty()) << "on host " << host;
    }
    EXPECT_FALSE(anything_survives());
  }
};

// A namespace with its network, or the reason why this machine cannot make one.
#define MGCOMPARE_NETWORK(network, hosts) \
  const HostNetwork network(hosts);       \
  if (!network.problem().empty()) GTEST_SKIP() << "no hosts for this test: " << network.problem()

inline const Row& row_named(const mgcompare::Run& run, const std::string& name) {
  for (const Row& row : run.rows)
    if (row_name(row.trial) == name) return row;
  throw std::runtime_error("no row '" + name + "'");
}

inline std::string hosts_config(const std::string& devices, const std::string& strategies, const std::string& rest = "") {
  return small_config("scaling: {devices: [" + devices + "], batch: 64, ranks_per_device: 1}\nmeasure: {level: quick, time_limit: 60}\n"
                      "strategies: [" + strategies + "]\n" + rest);
}

}  // namespace mgcompare
