// verify on hosts that are threads.

#include <gmock/gmock.h>

#include <cstdlib>

#include "base/temporary_folder.h"
#include "strategy_plugins.h"
#include "verified.h"

namespace mgcompare {
namespace {

using ::testing::HasSubstr;
using testing::Verified;
using Verdict = VerifyFinding::Verdict;

Verified checked(const std::string& name, const std::vector<OptionConfig>& options, const PluginSummary& plugin) {
  VerifyScope scope;
  scope.plugins = {plugin};
  const Config config = testing::config_with(testing::small_model(), {{name, "the row", options, {}}});
  const Dataset data = testing::first_digits(scope.samples);
  const TemporaryFolder folder;
  Verification verification(config, data, platform(DeviceKind::cpu), scope, folder.path());
  Verified verified;
  VerifyListener listener;
  listener.found = [&](const VerifyFinding& finding) { verified.findings.push_back(finding); };
  verification.listen(listener);
  verification.check_hosts(config.strategies[0]);
  return verified;
}

Verified checked_liar(const std::string& how, const std::string& approximate = "false") {
  return checked("liar", {{"how", how, false, {}}, {"approximate", approximate, false, {}}}, testing::faulty_plugin("liar"));
}

Verified checked_server(const char* lie) {
  const testing::ServerLie told(lie);
  return checked("server", {}, testing::faulty_plugin("server"));
}

PluginSummary shipped(const std::string& name) { return inspect_plugin(testing::file_of_plugin(name)); }

TEST(VerifyHosts, StrategiesHoldOnEveryShape) {
  for (const char* name :
       {"replicated", "data_parallel", "sharded_server", "tower", "local_sgd", "bmuf", "easgd", "async_sgd", "onebit", "top_k", "power_sgd", "independent"}) {
    const Verified verified = checked(name, {}, shipped(name));
    EXPECT_EQ(testing::failures(verified), "") << name;
    EXPECT_GE(verified.count("the row", Verdict::passed), 4u) << name;
  }
  EXPECT_EQ(testing::failures(checked("easgd", {{"pace", "lockstep", false, {}}}, shipped("easgd"))), "");
}

TEST(VerifyHosts, FreePaceIsThatOfOneHost) {
  for (const char* name : {"easgd", "async_sgd"}) {
    std::vector<OptionConfig> options;
    if (name == std::string("async_sgd")) options = {{"server", "device", false, {}}};
    const Verified verified = checked(name, options, shipped(name));
    EXPECT_EQ(testing::failures(verified), "") << name;
    std::size_t found = 0;
    for (const VerifyFinding& finding : verified.findings)
      found += finding.check.find("equals as many ranks of one host") != std::string::npos && finding.verdict == Verdict::passed;
    EXPECT_EQ(found, 4u) << name;
  }
}

TEST(VerifyHosts, StrategiesOfOneHostAreSkippedWithTheReason) {
  const Verified verified = checked("async_sgd", {{"server", "host", false, {}}}, shipped("async_sgd"));
  ASSERT_EQ(verified.findings.size(), 1u);
  EXPECT_EQ(verified.findings[0].verdict, Verdict::skipped);
  EXPECT_THAT(verified.findings[0].figure, HasSubstr("the memory of one host"));
}

TEST(VerifyHosts, FaultsAreFound) {
  EXPECT_THAT(testing::failures(checked_liar("scaled gradients")), HasSubstr("on 2 hosts of 1 rank, equals one device"));
  EXPECT_THAT(testing::failures(checked_liar("skipped exchange")), HasSubstr("on 3 hosts of 2 ranks, all ranks have the same bits"));
  EXPECT_EQ(testing::failures(checked_liar("nothing")), "");
}

TEST(VerifyHosts, EveryRankOfEveryHostCounts) {
  const std::string failures = testing::failures(checked_liar("ignores hosts", "true"));
  EXPECT_THAT(failures, HasSubstr("on 2 hosts of 1 rank, the model depends on every rank's samples: another sample of rank 1 in step"));
  EXPECT_THAT(failures, HasSubstr("on 2 hosts of 2 ranks, the model depends on every rank's samples: another sample of rank 2 in step"));
  EXPECT_THAT(failures, HasSubstr("on 3 hosts of 2 ranks, the model depends on every rank's samples"));
  EXPECT_THAT(testing::failures(checked_server("broadcasts the first")), HasSubstr("on 2 hosts of 1 rank, the model depends on every rank's samples"));
  EXPECT_EQ(testing::failures(checked_liar("nothing", "true")), "");
}

TEST(VerifyHosts, OneModelIsThatOfAllHosts) {
  EXPECT_THAT(testing::failures(checked_server("one on each host")), HasSubstr("on 2 hosts of 1 rank, all ranks have the same bits: differs by"));
  EXPECT_EQ(checked_server("").count("the row", Verdict::skipped), 1u) << "it has the trait one_host";
}

TEST(VerifyHosts, StateIsSavedOnEveryHost) {
  const std::string failures = testing::failures(checked_liar("saves on one host", "true"));
  EXPECT_THAT(failures, HasSubstr("on 2 hosts of 1 rank, interrupted and resumed, it ends with the same weights: differs by"));
  EXPECT_THAT(failures, HasSubstr("on 3 hosts of 2 ranks, interrupted and resumed, it ends with the same weights: differs by"));
}

}  // namespace
}  // namespace mgcompare
