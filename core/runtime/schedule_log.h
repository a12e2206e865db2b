#pragma once

// What a trial of free-running ranks leaves so that it can be repeated and looked into: the order in which its ranks
// met, and the lines its strategy wrote. One CBOR file by nlohmann json.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace mgcompare {

struct ScheduleLog {
  // By stripe: the ranks that ran an exclusive section, one after the other.
  using Order = std::map<std::size_t, std::vector<std::uint32_t>>;
  // By name: rows of figures, in the order in which one rank wrote them.
  using Lines = std::map<std::string, std::vector<std::vector<double>>>;

  std::map<std::size_t, Order> epochs;
  std::vector<Lines> ranks;
};

void to_json(nlohmann::json& json, const ScheduleLog& record);
void from_json(const nlohmann::json& json, ScheduleLog& record);

// Throw Error with the file's name.
void write_schedule_log(const std::string& file, const ScheduleLog& record);
ScheduleLog read_schedule_log(const std::string& file);

}  // namespace mgcompare
