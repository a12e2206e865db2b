// Which link measurements are suspicious, and that they survive conversion to JSON and back.

#include "results/link_measurements.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mgcompare {
namespace {

LinkMeasurements sound(int devices) {
  LinkMeasurements links;
  links.kind = "cuda";
  for (int from = 0; from < devices; ++from) {
    links.devices.push_back({from, true, 50e9, 48e9, 2e-6, 60e12});
    for (int to = 0; to < devices; ++to)
      if (from != to) links.pairs.push_back({from, to, true, true, 360e9 + 1e9 * from, 2e-6});
  }
  links.all_reduces = {{2, 4096, 11e-6}, {4, 4096, 13e-6}};
  return links;
}

TEST(LinksTest, SoundOnesGiveNoReason) {
  EXPECT_TRUE(broken_links(sound(4)).empty());
  EXPECT_TRUE(slow_links(sound(4)).empty());
  EXPECT_TRUE(slow_links(sound(1)).empty());
}

TEST(LinksTest, BetweenHostsTheDamagedAndTheSlowOnesAreNamed) {
  const std::vector<std::string> names = {"a", "b", "c"};
  std::vector<HostPairLink> links;
  for (std::size_t from = 0; from < 3; ++from)
    for (std::size_t to = 0; to < 3; ++to)
      if (from != to) links.push_back({from, to, true, 1e9, 50e-6});
  EXPECT_TRUE(problems_of(links, names).empty());
  links[1].intact = false;          // from a to c
  links[2].bytes_per_second = 4e8;  // from b to a
  const std::vector<std::string> problems = problems_of(links, names);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_NE(problems[0].find("from host a to host c arrive damaged"), std::string::npos) << problems[0];
  EXPECT_NE(problems[1].find("from host b to host a moves 0.4 GB/s"), std::string::npos) << problems[1];
  EXPECT_TRUE(problems_of({{0, 1, true, 1e9, 1e-4}, {1, 0, true, 0.9e9, 1e-4}}, names).empty()) << "two hosts";
}

TEST(LinksTest, AWholeMachineIsMeasuredInPowersOfTwo) {
  EXPECT_TRUE(whole_scope(1).groups.empty());
  EXPECT_EQ(whole_scope(6).groups, (std::vector<std::size_t>{2, 4, 6}));
  EXPECT_EQ(whole_scope(40).devices, 16u);
}

TEST(LinksTest, DamagedDataNameThePairAndTheDevice) {
  LinkMeasurements links = sound(3);
  links.pairs[3].intact = false;  // from 1 to 2
  links.devices[2].intact = false;
  links.wrong_sums = {3};
  const auto broken = broken_links(links);
  ASSERT_EQ(broken.size(), 3u);
  EXPECT_NE(broken[0].find("cuda:2 and back"), std::string::npos) << broken[0];
  EXPECT_NE(broken[1].find("from cuda:1 to cuda:2"), std::string::npos) << broken[1];
  EXPECT_NE(broken[2].find("over 3 cuda devices"), std::string::npos) << broken[2];
}

TEST(LinksTest, SlowOnesAreNamedWithBothFigures) {
  LinkMeasurements links = sound(4);
  links.pairs[0].bytes_per_second = 12e9;  // from 0 to 1
  links.devices[3].bytes_per_second_to_host = 3e9;
  links.devices[1].flops_per_second = 30e12;
  const auto slow = slow_links(links);
  ASSERT_EQ(slow.size(), 3u);
  EXPECT_NE(slow[0].find("from cuda:0 to cuda:1 moves 12 GB/s; the median of comparable links is 36"), std::string::npos) << slow[0];
  EXPECT_NE(slow[1].find("to the host from cuda:3 moves 3 GB/s"), std::string::npos) << slow[1];
  EXPECT_NE(slow[2].find("cuda:1 computes"), std::string::npos) << slow[2];
}

TEST(LinksTest, WaysOfAnotherKindAreNoPeers) {
  LinkMeasurements links = sound(4);
  // Two sockets: copies between them go through the host and are slower for all.
  for (PairLink& pair : links.pairs) {
    if ((pair.from < 2) == (pair.to < 2)) continue;
    pair.direct = false;
    pair.bytes_per_second = 20e9;
  }
  EXPECT_TRUE(slow_links(links).empty());
}

TEST(LinksTest, ComeBackFromJson) {
  LinkMeasurements links = sound(2);
  links.pairs[1].direct = false;
  links.wrong_sums = {2};
  links.problems = {"a sentence"};
  const nlohmann::json json = links;
  EXPECT_EQ(nlohmann::json(json.get<LinkMeasurements>()), json);
  nlohmann::json older = json;
  older.erase("pairs");
  EXPECT_THROW(older.get<LinkMeasurements>(), std::exception);
}

}  // namespace
}  // namespace mgcompare
