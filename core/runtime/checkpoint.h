#pragma once

// The state of an interrupted trial at the end of an epoch: one file, CBOR by nlohmann json, replaced as a whole.

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "mgcompare/archive.h"
#include "mgcompare/device.h"

namespace mgcompare {

using Blobs = std::map<std::string, std::vector<std::uint8_t>>;

struct Checkpoint {
  nlohmann::json progress;    // what the trial's clocks and counters were
  std::vector<Blobs> ranks;
};

// Throw Error with the file's name. write_checkpoint leaves the old file whole until the new one is on disk.
void write_checkpoint(const std::string& file, const Checkpoint& checkpoint);
Checkpoint read_checkpoint(const std::string& file);

// A rank's part of a checkpoint, or the part of that which is a strategy's own.
class BlobArchive : public Archive {
 public:
  // Names are kept with the prefix before them.
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
