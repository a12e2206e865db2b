#include "check/host_links.h"

#include <algorithm>
#include <cstdint>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/median.h"
#include "check/test_pattern.h"

namespace mgcompare {
namespace {

constexpr std::size_t kBytes = 8 << 20, kSmallMessage = 4;
constexpr int kRepeats = 5, kSmallRepeats = 200;

class Pair {
 public:
  Pair(Transport& transport, std::size_t from, std::size_t to)
      : transport_(transport), from_(from), to_(to), is_sender_(transport.host() == from), words_(kBytes / sizeof(std::uint32_t)) {}

  // Called on both hosts; the sender's result counts. The receiver answers with a few bytes, whose half round trip is subtracted.
  HostPairLink measure() {
    HostPairLink link{from_, to_, true, 0, 0};
    std::vector<double> small, large;
    for (int i = 0; i < kSmallRepeats; ++i) small.push_back(round_trip(kSmallMessage) / 2);
    link.seconds_small = median(small);
    for (int i = 0; i < kRepeats; ++i) {
      prepare(static_cast<std::uint32_t>(i + 1));
      large.push_back(round_trip(kBytes) - link.seconds_small);
      link.intact &= is_intact(static_cast<std::uint32_t>(i + 1));
    }
    link.bytes_per_second = static_cast<double>(kBytes) / std::max(median(large), 1e-9);
    return link;
  }

 private:
  double round_trip(std::size_t bytes) {
    const double start = now();
    if (is_sender_) {
      transport_.exchange({{to_, words_.data(), bytes}}, {});
      transport_.exchange({}, {{to_, &answer_, sizeof(answer_)}});
    } else {
      transport_.exchange({}, {{from_, words_.data(), bytes}});
      transport_.exchange({{from_, &answer_, sizeof(answer_)}}, {});
    }
    return now() - start;
  }

  void prepare(std::uint32_t use) {
    if (is_sender_) fill_with_pattern(words_.data(), words_.size(), use);
    else std::fill(words_.begin(), words_.end(), 0u);
  }

  // What the receiver found; it tells the sender.
  bool is_intact(std::uint32_t use) {
    if (is_sender_) {
      transport_.exchange({}, {{to_, &answer_, sizeof(answer_)}});
      return answer_ == 1;
    }
    answer_ = holds_pattern(words_.data(), words_.size(), use) ? 1 : 0;
    transport_.exchange({{from_, &answer_, sizeof(answer_)}}, {});
    return answer_ == 1;
  }

  Transport& transport_;
  std::size_t from_, to_;
  bool is_sender_;
  std::vector<std::uint32_t> words_;
  std::uint32_t answer_ = 0;
};

}  // namespace

std::vector<HostPairLink> measure_host_links(const HostSpan& hosts) {
  nlohmann::json own = nlohmann::json::array();
  for (std::size_t from = 0; from < hosts.count; ++from) {
    for (std::size_t to = 0; to < hosts.count; ++to) {
      if (from == to) continue;
      meet(hosts);
      if (hosts.number != from && hosts.number != to) continue;
      const HostPairLink link = Pair(*hosts.transport, from, to).measure();
      if (hosts.number == from) own.push_back(link);
    }
  }
  std::vector<HostPairLink> all;
  for (const std::string& text : gather(hosts, own.dump()))
    for (const nlohmann::json& link : nlohmann::json::parse(text)) all.push_back(link.get<HostPairLink>());
  return all;
}

}  // namespace mgcompare
