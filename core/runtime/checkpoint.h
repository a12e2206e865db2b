#pragma once

// The state of a trial at the end of an epoch: one CBOR file (nlohmann json), replaced atomically.

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "mgcompare/archive.h"
#include "mgcompare/device.h"

namespace mgcompare {

using Blobs = std::map<std::string, std::vector<std::uint8_t>>;

struct Checkpoint {
  nlohmann::json progress;    // clocks and counters of the trial
  std::vector<Blobs> ranks;
};

// Throw Error with the name of the file. write_checkpoint() keeps the old file until the new one is on disk.
void write_checkpoint(const std::string& file, const Checkpoint& checkpoint);
Checkpoint read_checkpoint(const std::string& file);

// One rank's part of a checkpoint, or the strategy's share of it. Copies from and to the device wait for the device.
class BlobArchive : public Archive {
 public:
  // `prefix` is put before each name.
  BlobArchive(Device& device, Blobs& blobs, std::string prefix)
      : device_(device), blobs_(blobs), prefix_(std::move(prefix)) {}

 protected:
  void write(std::string_view name, const void* data, std::size_t bytes, bool on_host) override;
  void read(std::string_view name, void* data, std::size_t bytes, bool on_host) override;

 private:
  Device& device_;
  Blobs& blobs_;
  std::string prefix_;
};

}  // namespace mgcompare
