#pragma once

// The schedule of a trial of free-running ranks, for replays and for analysis: the order of their exclusive sections, and the
// lines that the strategy recorded. One CBOR file (nlohmann json).

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace mgcompare {

struct ScheduleLog {
  // By stripe: the ranks that ran its exclusive sections, in order.
  using Order = std::map<std::size_t, std::vector<std::uint32_t>>;
  // By name: rows of figures, in the order in which one rank recorded them.
  using Lines = std::map<std::string, std::vector<std::vector<double>>>;

  std::map<std::size_t, Order> epochs;
  std::vector<Lines> ranks;
};

void to_json(nlohmann::json& json, const ScheduleLog& record);
void from_json(const nlohmann::json& json, ScheduleLog& record);

// Both throw Error with the name of the file. Writing returns the SHA-256 of the file.
std::string write_schedule_log(const std::string& file, const ScheduleLog& record);
ScheduleLog read_schedule_log(const std::string& file);

}  // namespace mgcompare
