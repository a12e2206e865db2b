#include "runtime/schedule_log.h"

#include <fstream>

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/sha256.h"
#include "mgcompare/error.h"

namespace mgcompare {
namespace {

constexpr char kSchema[] = "mgcompare.record/1";

}  // namespace

// Maps with numbers as keys become lists of pairs, because keys of JSON objects are strings.
void to_json(nlohmann::json& json, const ScheduleLog& record) {
  json = {{"schema", kSchema}, {"epochs", nlohmann::json::array()}, {"ranks", record.ranks}};
  for (const auto& [epoch, order] : record.epochs) {
    nlohmann::json stripes = nlohmann::json::array();
    for (const auto& [stripe, ranks] : order) stripes.push_back({stripe, ranks});
    json["epochs"].push_back({epoch, std::move(stripes)});
  }
}

void from_json(const nlohmann::json& json, ScheduleLog& record) {
  record = {};
  for (const nlohmann::json& epoch : json.at("epochs"))
    for (const nlohmann::json& stripe : epoch.at(1))
      record.epochs[epoch.at(0).get<std::size_t>()][stripe.at(0).get<std::size_t>()] =
          stripe.at(1).get<std::vector<std::uint32_t>>();
  json.at("ranks").get_to(record.ranks);
}

std::string write_schedule_log(const std::string& file, const ScheduleLog& record) {
  const std::vector<std::uint8_t> cbor = nlohmann::json::to_cbor(record);
  const std::string_view bytes(reinterpret_cast<const char*>(cbor.data()), cbor.size());
  try {
    write_in_subfolder(file, bytes);
    return sha256(bytes);
  } catch (const FileError& error) {
    throw Error(std::string("the record ") + error.what() + "; remove the cause, or set measure.record: false");
  }
}

ScheduleLog read_schedule_log(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Error("the record " + file + " cannot be read; run the experiment with measure.record: true");
  try {
    const nlohmann::json json = nlohmann::json::from_cbor(stream);
    if (json.at("schema") != kSchema)
      throw Error("the record " + file + " was written by another version (" + json.at("schema").dump() + ", this program reads " + kSchema + ")");
    return json.get<ScheduleLog>();
  } catch (const nlohmann::json::exception& error) {
    throw Error("the record " + file + " is damaged (" + error.what() + "); run the experiment again with measure.record: true");
  }
}

}  // namespace mgcompare
