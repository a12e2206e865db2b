// What a lost worker, host or link leaves of a run on several hosts.

#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "hosts/hosts.h"

namespace mgcompare {
namespace {

using ::testing::HasSubstr;

class Losses : public Hosts {
 protected:
  // Runs long trials on all hosts, and calls `harm` in the first.
  Ended run_and_harm(const HostNetwork& network, const std::string& devices, const std::function<void()>& harm,
                     const std::string& first = "{local_sgd: {every: 2, as: first}}", const std::string& limit = "8") {
    const std::string config = place_.write("hosts.yaml", hosts_config(devices, "serial, " + first + ", {local_sgd: {every: 2, as: later}}", "hosts: {timeout: 3}\n"));
    Program program = start(network, {config, "--hosts", network.names(), "--set", "epochs=100000", "--set", "measure.time_limit=" + limit, "--only", "as=first,as=later"});
    wait_for_training(network);
    harm();
    return program.wait();
  }
};

TEST_F(Losses, AKilledWorkerIsARowAndTheNextTrialRunsOnAllHosts) {
  MGCOMPARE_NETWORK(network, 2);
  run_and_harm(network, "cpu:2x1", [&] {
    for (const int id : network.processes(1, kWorker)) kill(id, SIGKILL);
  });
  const mgcompare::Run run = place_.only_run();
  std::vector<std::string> ends;
  for (const Row& row : run.rows)
    if (row.trial.hosts == 2) ends.push_back(std::string(to_string(row.result.status)) + ": " + row.result.cause);
  EXPECT_THAT(ends, ::testing::UnorderedElementsAre(HasSubstr("crashed: the worker of host " + network.name(1)), HasSubstr("timeout: over the limit of 8 s")));
  expect_nothing_left(network, 2);
}

TEST_F(Losses, AHostWhoseWorkerWasStoppedIsNotLost) {
  MGCOMPARE_NETWORK(network, 2);
  run_and_harm(network, "cpu:2x1", [&] {
    // Not the guardian, which started it.
    const std::vector<int> workers = network.processes(1, kWorker);
    ASSERT_FALSE(workers.empty());
    kill(*std::max_element(workers.begin(), workers.end()), SIGSTOP);
  }, "{async_sgd: {as: first}}", "10");
  const mgcompare::Run run = place_.only_run();
  EXPECT_EQ(row_named(run, "first cpu:2x1 batch 64").result.status, TrialStatus::crashed);
  EXPECT_THAT(row_named(run, "first cpu:2x1 batch 64").result.cause, HasSubstr("the worker of host " + network.name(1) + " did not answer any more, and a new one does"));
  EXPECT_EQ(row_named(run, "later cpu:2x1 batch 64").result.status, TrialStatus::timeout) << row_named(run, "later cpu:2x1 batch 64").result.cause;
  expect_nothing_left(network, 2);
}

// The first host may be in a section of the rank that is no more.
TEST_F(Losses, AKilledWorkerAtFreePaceIsARowToo) {
  MGCOMPARE_NETWORK(network, 2);
  run_and_harm(network, "cpu:2x1", [&] {
    for (const int id : network.processes(1, kWorker)) kill(id, SIGKILL);
  }, "{async_sgd: {as: first}}", "6");
  const mgcompare::Run run = place_.only_run();
  EXPECT_EQ(row_named(run, "first cpu:2x1 batch 64").result.status, TrialStatus::crashed) << row_named(run, "first cpu:2x1 batch 64").result.cause;
  EXPECT_THAT(row_named(run, "first cpu:2x1 batch 64").result.cause, HasSubstr("the worker of host " + network.name(1)));
  EXPECT_EQ(row_named(run, "later cpu:2x1 batch 64").result.status, TrialStatus::timeout);
  expect_nothing_left(network, 2);
}

TEST_F(Losses, ALostLinkIsARowWithTheHostAndLaterRowsDoNotStart) {
  MGCOMPARE_NETWORK(network, 2);
  run_and_harm(network, "cpu:2x1", [&] { network.set_link(1, false); });
  const mgcompare::Run run = place_.only_run();
  std::vector<std::string> ends;
  for (const Row& row : run.rows)
    if (row.trial.hosts == 2) ends.push_back(std::string(to_string(row.result.status)) + ": " + row.result.cause);
  EXPECT_THAT(ends, ::testing::UnorderedElementsAre(HasSubstr("device lost: host " + network.name(1) + " has not answered for 3 s"),
                                                    HasSubstr("device lost: host " + network.name(1) + " was lost; the trial needs 2 hosts, 1 left")));
  expect_nothing_left(network, 2);
}

}  // namespace
}  // namespace mgcompare
