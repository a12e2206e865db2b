#pragma once

// The state of a trial at the end of an epoch, in one file that is replaced atomically. The file names the training that it
// belongs to, and a checksum over all of its bytes detects damage.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "mgcompare/archive.h"
#include "mgcompare/device.h"

namespace mgcompare {

using Blobs = std::map<std::string, std::vector<std::uint8_t>>;

struct Checkpoint {
  std::string identity;             // of the training (train/training_identity.h)
  nlohmann::json progress;          // clocks and counters of the trial
  std::vector<Blobs> ranks;
};

// Puts the file in the place of whatever else has its name: a directory that is not empty is renamed. Keeps the old file until the
// new one is on disk. Returns false, and keeps it altogether, if the contents of the new one have more than `most_bytes`. Throws
// Error with the name of the file.
[[nodiscard]] bool write_checkpoint(const std::string& file, const Checkpoint& checkpoint, std::uint64_t most_bytes);
// Throws Error with the reason, without the name of the file, if it cannot be read, was written by another version, is damaged
// or has more than `most_bytes` of contents. Reads a header of fixed size first, and the contents only if the file has the size
// that the header states.
Checkpoint read_checkpoint(const std::string& file, std::uint64_t most_bytes);

// The state of ranks as bytes, to send it to another host.
std::string bytes_of(const std::vector<Blobs>& ranks);
// Throws Error if the bytes are not those of bytes_of().
std::vector<Blobs> ranks_of(std::string_view bytes);

// One rank's part of a checkpoint, or the strategy's share of it. Copies from and to the device wait for the device.
class BlobArchive : public Archive {
 public:
  // `prefix` is put before each name.
  BlobArchive(Device& device, Blobs& blobs, std::string prefix)
      : device_(device), blobs_(blobs), prefix_(std::move(prefix)) {}

  // Host memory of a length that the reader does not know.
  template <class T> void put_vector(std::string_view name, const std::vector<T>& values) {
    put_host(name, Span<const T>(values.data(), values.size()));
  }
  template <class T> void get_vector(std::string_view name, std::vector<T>& values) {
    values.resize(find(name).size() / sizeof(T));
    get_host(name, Span<T>(values.data(), values.size()));
  }

 protected:
  void write(std::string_view name, const void* data, std::size_t bytes, bool on_host) override;
  void read(std::string_view name, void* data, std::size_t bytes, bool on_host) override;

 private:
  const std::vector<std::uint8_t>& find(std::string_view name) const;

  Device& device_;
  Blobs& blobs_;
  std::string prefix_;
};

}  // namespace mgcompare
