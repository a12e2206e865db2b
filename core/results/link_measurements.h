#pragma once

// Measurements of the copies between the devices of one kind and to their host: whether data arrive unchanged, and how
// fast. Seconds and bytes; medians of several repetitions.

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace mgcompare {

// What `doctor` and the short check before a run measure.
struct DoctorScope {
  std::size_t devices = 0;          // how many
  std::vector<std::size_t> groups = {};  // how many of them an all-reduce is timed for, ascending: the first ones each time
  bool brief = false;               // before a run: smaller sizes, fewer repetitions, no matrix product
  std::vector<std::string> calls = {"all_reduce"};  // collectives that are timed, by their names in Group; predictions need all of them
  std::vector<int> ids = {};        // which devices, in the order of the ranks; empty: the first ones
};

// One device and its host link. Host memory is page-locked for GPUs.
struct DeviceFigures {
  int device = 0;
  bool intact = true;  // data came back from the device unchanged
  double bytes_per_second_to_device = 0, bytes_per_second_to_host = 0;
  double seconds_small_to_device = 0;  // of a copy of a few bytes, many of them queued
  double flops_per_second = 0;         // of a single-precision matrix product; 0: not measured
};

// Copies from the memory of one device to that of another.
struct PairLink {
  int from = 0, to = 0;
  bool direct = true;  // peer-to-peer; otherwise the driver copies through the host
  bool intact = true;
  double bytes_per_second = 0;
  double seconds_small = 0;  // of a copy of a few bytes, many of them queued
};

// A float32 all-reduce over the first `devices` devices, one rank per device.
// Of a call as in a step, where each rank has just written the vector; the time of writing is not part of it.
struct AllReduceTime {
  std::size_t devices = 0, bytes = 0;
  double seconds = 0;
};

// Another collective, where all ranks have the same part of the vector. Calls with a root have each rank as root in turn.
struct CollectiveTime {
  std::string call;                 // as Group names it
  std::size_t devices = 0;
  std::size_t bytes = 0;            // of the whole vector
  double seconds = 0;
};

// Messages from one host to another, in CPU memory. Hosts are numbered from 0.
struct HostPairLink {
  std::size_t from = 0, to = 0;
  bool intact = true;
  double bytes_per_second = 0;
  double seconds_small = 0;  // half of a round trip of a few bytes
};

struct LinkMeasurements {
  std::string kind;  // "cpu", "cuda"
  std::vector<DeviceFigures> devices;
  std::vector<PairLink> pairs;  // every ordered pair
  std::vector<AllReduceTime> all_reduces;
  std::vector<CollectiveTime> others;
  std::vector<std::size_t> wrong_sums;  // device counts whose all-reduce returned wrong sums
  std::vector<std::string> problems;    // sentences; any of them makes the results of a run doubtful
};

// The names of all collectives that can be timed.
const std::vector<std::string>& timed_calls();

// What `doctor` measures of a machine with so many devices of a kind: at most 16 of them, because the number of pairs grows with the square.
DoctorScope whole_scope(std::size_t devices);

// Sentences on damaged messages, and on links far below the median of the others.
std::vector<std::string> problems_of(const std::vector<HostPairLink>& links, const std::vector<std::string>& hosts);

// Sentences on damaged copies and wrong sums.
std::vector<std::string> broken_links(const LinkMeasurements& links);
// Indices of the pairs and devices with a value far below that of comparable pairs or devices.
struct Suspects {
  std::vector<std::size_t> pairs, devices;
};
Suspects suspects_of(const LinkMeasurements& links);
// The same in sentences.
std::vector<std::string> slow_links(const LinkMeasurements& links);

void to_json(nlohmann::json& json, const HostPairLink& link);
void from_json(const nlohmann::json& json, HostPairLink& link);
void to_json(nlohmann::json& json, const LinkMeasurements& links);
void from_json(const nlohmann::json& json, LinkMeasurements& links);  // throws Error

}  // namespace mgcompare
