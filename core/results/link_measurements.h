#pragma once

// What the devices of one kind are to each other and to their host, as it was measured: whether data arrive as they
// were sent, and how fast. Seconds and bytes; medians of several repeats.

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace mgcompare {

// What `doctor` measures, and the brief check before a run.
struct DoctorScope {
  std::size_t devices = 0;          // how many, from the first
  std::vector<std::size_t> groups;  // counts of devices whose all-reduce is timed, ascending
  bool brief = false;               // smaller sizes, fewer repeats, no arithmetic: before each run
};

// A device by itself and with its host, whose memory is page-locked where that matters.
struct DeviceFigures {
  int device = 0;
  bool intact = true;  // data came back from the device as they were sent
  double bytes_per_second_to_device = 0, bytes_per_second_to_host = 0;
  double seconds_small_to_device = 0;  // of a copy of a few bytes, many queued one behind the other
  double flops_per_second = 0;         // of a matrix product in single precision; 0: not measured
};

// Copies that one device sends into the memory of another.
struct PairLink {
  int from = 0, to = 0;
  bool direct = true;  // peer-to-peer; otherwise the driver goes through the host
  bool intact = true;
  double bytes_per_second = 0;
  double seconds_small = 0;  // of a copy of a few bytes, many queued one behind the other
};

// An all-reduce over the first `devices` devices, a rank each, of float32.
struct AllReduceTime {
  std::size_t devices = 0, bytes = 0;
  double seconds = 0;
};

struct LinkMeasurements {
  std::string kind;  // "cpu", "cuda"
  std::vector<DeviceFigures> devices;
  std::vector<PairLink> pairs;  // every ordered one
  std::vector<AllReduceTime> all_reduces;
  std::vector<std::size_t> wrong_sums;  // counts of devices whose all-reduce added wrongly
  std::vector<std::string> problems;    // sentences; anything here makes the figures of a run doubtful
};

// What is broken: data that did not arrive, sums that are wrong.
std::vector<std::string> broken_links(const LinkMeasurements& links);
// Places of the pairs and the devices with a figure that is far below that of their like.
struct Suspects {
  std::vector<std::size_t> pairs, devices;
};
Suspects suspects_of(const LinkMeasurements& links);
// The same in sentences. One slow figure of two says nothing of which is at fault, so it names both.
std::vector<std::string> slow_links(const LinkMeasurements& links);

void to_json(nlohmann::json& json, const LinkMeasurements& links);
void from_json(const nlohmann::json& json, LinkMeasurements& links);  // throws Error

}  // namespace mgcompare
