#include "reports/link_model.h"

#include <gmock/gmock.h>

#include "mgcompare/error.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

ExchangeTime timed(std::size_t devices, double bytes, double latency, double bandwidth) {
  return {bytes, devices, 2.0 * (static_cast<double>(devices) - 1) * latency + bytes / bandwidth};
}

TEST(FitLink, FindsLatencyAndBandwidth) {
  std::vector<ExchangeTime> times;
  for (const std::size_t devices : {2, 3, 4})
    for (const double bytes : {4e3, 6e4, 1e6}) times.push_back(timed(devices, bytes, 5e-6, 2e10));
  const LinkModel link = fit_link(times);
  EXPECT_NEAR(link.latency, 5e-6, 1e-12);
  EXPECT_NEAR(link.bandwidth, 2e10, 1e4);
  EXPECT_EQ(link.break_bytes, 0);
  EXPECT_LT(link.error, 1e-9);
  EXPECT_EQ(link.devices, (std::vector<std::size_t>{2, 3, 4}));
  EXPECT_NEAR(link.seconds(8, 1e6), 14 * 5e-6 + 5e-5, 1e-12);
}

// A single line fitted through both protocols would be wrong by more than a half somewhere.
TEST(FitLink, BreaksWhereTheProtocolChanges) {
  std::vector<ExchangeTime> times;
  for (const double bytes : {256.0, 512.0, 1024.0, 2048.0}) times.push_back(timed(2, bytes, 1e-6, 1e9));
  for (const double bytes : {4096.0, 65536.0, 1048576.0, 4194304.0}) times.push_back(timed(2, bytes, 4e-5, 8e9));
  const LinkModel link = fit_link(times);
  EXPECT_EQ(link.break_bytes, 4096);
  EXPECT_NEAR(link.latency, 1e-6, 1e-10);
  EXPECT_NEAR(link.large_bandwidth, 8e9, 1e5);
  EXPECT_LT(link.error, 1e-6);
}

TEST(FitLink, NeverGoesBelowZero) {
  // Decreasing times would give a negative bandwidth.
  const LinkModel link = fit_link({{1e3, 2, 2e-5}, {1e6, 2, 1e-5}});
  EXPECT_GE(link.latency, 0);
  EXPECT_GT(link.bandwidth, 0);
  EXPECT_GT(link.seconds(2, 1e9), 0);
}

TEST(FitLink, RefusesNothing) {
  EXPECT_THAT([] { fit_link({}); }, ThrowsMessage<Error>(HasSubstr("no exchange was timed")));
  EXPECT_THROW(fit_link({{0, 2, 1e-3}, {1e6, 1, 1e-3}}), Error);
}

// Each of n ranks sends 2 (n - 1) / n of the reduced bytes.
TEST(ExchangeTimes, AreThoseOfTheAllReduces) {
  LinkMeasurements links;
  links.all_reduces = {{2, 1000, 1e-5}, {4, 1000, 2e-5}};
  const std::vector<ExchangeTime> all = exchange_times(links);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].bytes, 1000);
  EXPECT_EQ(all[1].bytes, 1500);
  EXPECT_EQ(exchange_times(links, 4).size(), 1u);
}

TEST(LinkOf, ReadsUnitsAndPresets) {
  const LinkModel link = link_of("latency=5us,bandwidth=20GB/s");
  EXPECT_NEAR(link.latency, 5e-6, 1e-15);
  EXPECT_NEAR(link.bandwidth, 2e10, 1);
  EXPECT_NEAR(link_of("bandwidth=100Gbit/s,latency=1.5ms").bandwidth, 1.25e10, 1);
  EXPECT_NEAR(link_of("bandwidth=100Mbit/s,latency=1.5ms").bandwidth, 1.25e7, 1);
  for (const char* name : {"ethernet10", "nvlink4"}) EXPECT_THAT(link_of(name).source, HasSubstr("assumption"));
  EXPECT_GT(link_of("nvlink4").bandwidth, link_of("pcie4").bandwidth);
}

TEST(LinkOf, RefusesNonsense) {
  for (const char* text : {"", "fast", "latency=5us", "bandwidth=20GB/s", "latency=5,bandwidth=20GB/s",
                           "latency=-5us,bandwidth=20GB/s", "latency=0us,bandwidth=20GB/s", "latency=nanus,bandwidth=1GB/s",
                           "latency=5us,latency=5us,bandwidth=1GB/s", "latency=5us,bandwidth=20GB/s,", "latency=5us;bandwidth=1GB/s",
                           "latency=5us,bandwidth=infGB/s", "latency=1e999us,bandwidth=1GB/s"}) {
    EXPECT_THAT([&] { link_of(text); },
                ThrowsMessage<Error>(AllOf(StartsWith(std::string("--link \"") + text + "\": is not a link; give \"latency=5us,bandwidth=20GB/s\""),
                                           HasSubstr("Mbit/s"), HasSubstr("nvlink4"))))
        << text;
  }
}

}  // namespace
}  // namespace mgcompare
