#include "runtime/checkpoint.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/atomic_file.h"
#include "mgcompare/error.h"

namespace mgcompare {
namespace {

constexpr char kSchema[] = "mgcompare.checkpoint/2";

}  // namespace

void write_checkpoint(const std::string& file, const Checkpoint& checkpoint) {
  nlohmann::json json = {{"schema", kSchema}, {"progress", checkpoint.progress}, {"ranks", nlohmann::json::array()}};
  for (const Blobs& blobs : checkpoint.ranks) {
    nlohmann::json rank = nlohmann::json::object();
    for (const auto& [name, bytes] : blobs) rank[name] = nlohmann::json::binary(bytes);
    json["ranks"].push_back(std::move(rank));
  }
  const std::vector<std::uint8_t> bytes = nlohmann::json::to_cbor(json);
  try {
    write_in_subfolder(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } catch (const FileError& error) {
    throw Error(std::string("the checkpoint ") + error.what());
  }
}

Checkpoint read_checkpoint(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Error("the checkpoint " + file + " cannot be read: " + std::strerror(errno));
  Checkpoint checkpoint;
  try {
    nlohmann::json json = nlohmann::json::from_cbor(stream);
    if (json.at("schema") != kSchema)
      throw Error("the checkpoint " + file + " was written by another version (" + json.at("schema").dump() + ", this program writes " + kSchema + ")");
    checkpoint.progress = json.at("progress");
    for (nlohmann::json& rank : json.at("ranks")) {
      Blobs blobs;
      for (auto& [name, bytes] : rank.items()) blobs[name] = std::move(bytes.get_binary());
      checkpoint.ranks.push_back(std::move(blobs));
    }
  } catch (const nlohmann::json::exception& error) {
    throw Error("the checkpoint " + file + " is damaged (" + error.what() + "); delete it to begin the trial again");
  }
  return checkpoint;
}

void BlobArchive::write(std::string_view name, const void* data, std::size_t bytes, bool on_host) {
  std::vector<std::uint8_t>& blob = blobs_[prefix_ + std::string(name)];
  blob.resize(bytes);
  if (bytes == 0) return;
  if (on_host) std::memcpy(blob.data(), data, bytes);
  else device_.copy_to_host(blob.data(), data, bytes);
  if (!on_host) device_.synchronize();
}

void BlobArchive::read(std::string_view name, void* data, std::size_t bytes, bool on_host) {
  const auto at = blobs_.find(prefix_ + std::string(name));
  if (at == blobs_.end()) throw Error("the checkpoint has no '" + std::string(name) + "'; it was written by another strategy or version");
  if (at->second.size() != bytes)
    throw Error("the checkpoint's '" + std::string(name) + "' has " + std::to_string(at->second.size()) + " bytes, expected " +
                std::to_string(bytes));
  if (bytes == 0) return;
  if (on_host) std::memcpy(data, at->second.data(), bytes);
  else device_.copy_to_device(data, at->second.data(), bytes);
  if (!on_host) device_.synchronize();
}

}  // namespace mgcompare
