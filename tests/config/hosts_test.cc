// `hosts:` and devices on several of them.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "config/host_name.h"
#include "mgcompare/strategy.h"
#include "tests/config/planning.h"

namespace mgcompare {
namespace {

using ::testing::HasSubstr;

TEST(HostName, IsThatOfRfc1123) {
  for (const char* name : {"node1", "Node-1", "node1.cluster.example", "10.0.0.7", "1", "a-b-c"}) EXPECT_TRUE(is_host_name(name)) << name;
  for (const char* name : {"", "-node", "node-", "a..b", ".a", "a.", "a b", "a;b", "a/b", "a_b", "-oProxyCommand=x", "\xc3\xa4", "a,b"})
    EXPECT_FALSE(is_host_name(name)) << name;
  EXPECT_TRUE(is_host_name(std::string(63, 'a')));
  EXPECT_FALSE(is_host_name(std::string(64, 'a')));
  EXPECT_FALSE(is_host_name(std::string(250, 'a') + ".com"));
}

const std::string kTwoHosts = "hosts: {names: [a, b]}\n";

TEST_F(Planning, DevicesOnSeveralHostsAreRows) {
  const Plan made = plan(kTwoHosts + "strategies: [single, sums]\nscaling: {devices: [2, 2x1, cpu:2x4]}", 4);
  std::map<std::string, Trial> rows;
  for (const Trial& trial : in_blocks(made.trials)) rows[row_name(trial)] = trial;
  ASSERT_TRUE(rows.contains("sums cpu:2 batch 128") && rows.contains("sums cpu:2x1 batch 128") && rows.contains("sums cpu:2x4 batch 128"));
  const Trial& eight = rows.at("sums cpu:2x4 batch 128");
  EXPECT_EQ(eight.hosts, 2u);
  EXPECT_EQ(eight.devices, 8u);
  EXPECT_EQ(eight.devices_per_host(), 4u);
  EXPECT_EQ(eight.unavailable, "");
  const Facts facts = facts_of(eight, eight.config, 1000);
  EXPECT_EQ(facts.hosts, 2);
  EXPECT_EQ(facts.ranks, 8);
  const Trial copy = nlohmann::json(eight).get<Trial>();
  EXPECT_EQ(copy.hosts, 2u);
  EXPECT_EQ(row_name(copy), row_name(eight));
  EXPECT_FALSE(nlohmann::json(rows.at("sums cpu:2 batch 128")).contains("hosts")) << "trials on one host are stored as ever";
}

TEST_F(Planning, RowsThatTheHostsCannotRunAreUnavailable) {
  const Plan made = plan(kTwoHosts + "strategies: [single, sums, own_pace]\nscaling: {devices: [2x1, 3x1, 2x8, cuda:2x1]}", 4, 2);
  std::map<std::string, std::string> reasons;
  for (const Trial& trial : made.trials) reasons[row_name(trial)] = trial.unavailable;
  EXPECT_EQ(reasons.at("sums cuda:2x1 batch 128"), "");
  EXPECT_EQ(reasons.at("sums cuda:2x8 batch 128"), "asked 8, have 2");
  const Plan shared = plan(kTwoHosts + "strategies: [sums]\nscaling: {devices: [2x1], ranks_per_device: 2}", 4, 2);
  ASSERT_FALSE(shared.trials.empty());
  EXPECT_EQ(shared.trials.front().unavailable, "several ranks on a GPU train on one host");
  const Plan cpus = plan(kTwoHosts + "strategies: [single, sums, own_pace]\nscaling: {devices: [cpu:2x1, cpu:3x1, cpu:2x8]}", 4);
  for (const Trial& trial : cpus.trials) reasons[row_name(trial)] = trial.unavailable;
  EXPECT_EQ(reasons.at("sums cpu:2x1 batch 128"), "");
  EXPECT_EQ(reasons.at("sums cpu:3x1 batch 128"), "asked 3 hosts, have 2; name them with --hosts or `hosts: {names: [...]}`");
  EXPECT_EQ(reasons.at("sums cpu:2x8 batch 128"), "asked 8, have 4");
  EXPECT_EQ(reasons.at("own_pace cpu:2x1 batch 128"), "");
}

TEST_F(Planning, ReferencesAreOnOneHost) {
  const Plan made = plan(kTwoHosts + "strategies: [precise]\nscaling: {devices: [2x1]}", 4);
  std::size_t references = 0;
  for (const Trial& trial : made.trials) {
    if (!trial.reference) continue;
    ++references;
    EXPECT_EQ(trial.hosts, 1u);
    EXPECT_EQ(trial.ranks(), 1u);
  }
  EXPECT_GT(references, 0u);
}

TEST_F(Planning, OnlySelectsRowsOnSeveralHosts) {
  const Plan made = plan(kTwoHosts + "strategies: [sums]\nscaling: {devices: [2, 2x1]}", 4);
  const auto selected = [&](const std::string& filter) {
    std::vector<std::string> names;
    for (const Trial& trial : only(made, filter)) names.push_back(row_name(trial));
    return names;
  };
  EXPECT_THAT(selected("devices=2x1"), ::testing::ElementsAre("sums cpu:2x1 batch 128"));
  EXPECT_THAT(selected("devices=cpu:2x1"), ::testing::ElementsAre("sums cpu:2x1 batch 128"));
  EXPECT_THAT(selected("devices=2"), ::testing::ElementsAre("sums cpu:2 batch 128"));
  EXPECT_THAT(selected("devices=cpu:2"), ::testing::ElementsAre("sums cpu:2 batch 128"));
}

TEST_F(Planning, HostsSurviveTheResolvedConfig) {
  const Config first = config(kTwoHosts + "strategies: [sums]\nscaling: {devices: [2x3, cpu:2x1]}");
  const auto again = nlohmann::json(first).get<Config>();
  EXPECT_EQ(again.hosts.names, first.hosts.names);
  ASSERT_EQ(again.scaling.devices.size(), 2u);
  EXPECT_EQ(again.scaling.devices[0].hosts, 2u);
  EXPECT_EQ(again.scaling.devices[0].count, 6u);
  EXPECT_EQ(again.scaling.devices[1].kind, "cpu");
}

TEST_F(Workspace, WrongHostsAreRefusedInASentence) {
  EXPECT_THAT(complaint(kGood + "hosts: {names: [a, -oProxyCommand=x]}"), HasSubstr("'-oProxyCommand=x', which is not that of a host"));
  EXPECT_THAT(complaint(kGood + "hosts: {names: [a, b, a]}"), HasSubstr("a is given twice in 'hosts.names'"));
  for (const char* wrong : {"0x2", "2x0", "2x", "x2", "2x2x2", "4096x2", "-1x2"})
    EXPECT_THAT(complaint(kGood + "scaling: {devices: [" + wrong + "]}"), HasSubstr("counts from 1 to 4096 such as 2, cpu:2, cuda:4 or 2x4")) << wrong;
  EXPECT_THAT(complaint(kGood + "scaling: {devices: [2x1, 2x1]}"), HasSubstr("2x1 is given twice"));
}

}  // namespace
}  // namespace mgcompare
