// The real program in an allocation of a real Slurm, whose hosts are network namespaces.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "command/rig.h"
#include "hosts/host_network.h"
#include "hosts/slurm_cluster.h"

namespace mgcompare {
namespace {

using ::testing::HasSubstr;

class LongSlurm : public CommandTest {};

TEST_F(LongSlurm, AnAllocationsHostsAreFoundAndUsed) {
  const std::filesystem::path build = MGCOMPARE_BINARY_DIR;
  if (!std::filesystem::exists(build / "lib/mgcompare/transport_mpi.so")) GTEST_SKIP() << "built without MPI";
  const HostNetwork network(2);
  if (!network.problem().empty()) GTEST_SKIP() << "no hosts for this test: " << network.problem();
  const SlurmCluster cluster(network);
  if (!cluster.problem().empty()) GTEST_SKIP() << "no Slurm for this test: " << cluster.problem();

  const std::string config = place_.write("slurm.yaml", small_config("scaling: {devices: [1, 2x1], batch: 64}\nmeasure: {level: quick, time_limit: 60}\n"
                                                                     "hosts: {launcher: slurm}\nstrategies: [serial, replicated]\n"));
  const std::string job = place_.write("job.sh", fmt::format("#!/bin/sh\nexec {} {}\n", (build / "bin/mgcompare").string(), config));
  const std::string output = network.folder().string() + "/job.out";
  const Ended ended = Program(place_.folder(), "/bin/sh", {"-c", network.script(), "timeout", "100", "sbatch", "--wait", "--nodes=2", "--output=" + output, job},
                              {{"SLURM_CONF", cluster.settings()}})
                          .wait();
  std::ifstream file(output);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  ASSERT_EQ(ended.code, 0) << ended.err << text;
  const mgcompare::Run run = place_.only_run();
  std::size_t on_two = 0;
  for (const Row& row : run.rows) {
    EXPECT_EQ(row.result.status, TrialStatus::done) << row_name(row.trial) << ": " << row.result.cause;
    if (row.trial.hosts < 2) continue;
    ++on_two;
    ASSERT_EQ(row.result.placement.size(), 2u);
  }
  EXPECT_EQ(on_two, 1u) << text;

  // Outside of the allocation there is nothing to find.
  const Ended outside = Program(place_.folder(), "/bin/sh", {"-c", network.script(), (build / "bin/mgcompare").string(), config}, {}).wait();
  EXPECT_EQ(outside.code, 4);
  EXPECT_THAT(outside.err, HasSubstr("this is no Slurm allocation: start mgcompare with sbatch or salloc"));
}

}  // namespace
}  // namespace mgcompare
