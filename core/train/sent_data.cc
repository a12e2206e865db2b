#include "train/sent_data.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "config/sample_spec_json.h"

namespace mgcompare {
namespace {

constexpr std::size_t kPart = std::size_t{16} << 20;

// Broadcasts memory of any size in parts. The first host only reads it.
void move_parts(const HostSpan& hosts, const void* data, std::size_t bytes, const std::function<void()>& after_part) {
  char* const all = const_cast<char*>(static_cast<const char*>(data));
  for (std::size_t begin = 0; begin < bytes; begin += kPart) {
    broadcast(hosts, all + begin, std::min(kPart, bytes - begin));
    if (after_part) after_part();
  }
}

std::size_t bytes_of(const std::vector<std::uint32_t>& targets) { return targets.size() * sizeof(std::uint32_t); }

nlohmann::json sizes_of(const Split& split) {
  return {{"samples", split.samples}, {"values", split.values.size()}, {"targets", split.targets.size()}};
}

Split receive_split(const HostSpan& hosts, const nlohmann::json& sizes) {
  Split split;
  split.samples = sizes.at("samples");
  std::vector<std::uint8_t> values(sizes.at("values").get<std::size_t>());
  split.targets.resize(sizes.at("targets").get<std::size_t>());
  move_parts(hosts, values.data(), values.size(), {});
  move_parts(hosts, split.targets.data(), bytes_of(split.targets), {});
  split.values = SharedBytes(std::move(values));
  return split;
}

}  // namespace

void send_data(const HostSpan& hosts, const Dataset& data, const std::function<void()>& after_part) {
  const nlohmann::json header = {{"name", data.name}, {"origin", data.origin}, {"remark", data.remark}, {"fingerprint", data.fingerprint},
                                 {"spec", data.spec}, {"training_set", data.training_set}, {"train", sizes_of(data.train)}, {"test", sizes_of(data.test)}};
  std::string text = json_text(header);
  broadcast(hosts, text);
  for (const Split* split : {&data.train, &data.test}) {
    move_parts(hosts, split->values.data(), split->values.size(), after_part);
    move_parts(hosts, split->targets.data(), bytes_of(split->targets), after_part);
  }
}

Dataset receive_data(const HostSpan& hosts) {
  std::string text;
  broadcast(hosts, text);
  const nlohmann::json header = nlohmann::json::parse(text);
  double bytes = 0;
  for (const char* name : {"train", "test"})
    bytes += header.at(name).at("values").get<double>() + sizeof(std::uint32_t) * header.at(name).at("targets").get<double>();
  Dataset data;
  data.name = header.at("name");
  check_fits_memory(data.name, bytes);
  data.origin = "sent by the first host";
  data.remark = header.at("remark");
  data.fingerprint = header.at("fingerprint");
  data.spec = header.at("spec").get<SampleSpec>();
  data.training_set = header.at("training_set");
  data.train = receive_split(hosts, header.at("train"));
  data.test = receive_split(hosts, header.at("test"));
  return data;
}

}  // namespace mgcompare
