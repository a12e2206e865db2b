#include "runtime/checkpoint.h"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/atomic_file.h"
#include "base/sha256.h"
#include "mgcompare/error.h"

namespace mgcompare {
namespace {

// A file: this line, the SHA-256 of everything after it, then the contents. Numbers are 64 bits, lowest byte first; texts
// and blobs follow their length.
constexpr std::string_view kFirstLine = "mgcompare.checkpoint/3\n";
constexpr std::string_view kAnyFirstLine = kFirstLine.substr(0, kFirstLine.find('/') + 1);
constexpr std::size_t kDigestBytes = 32;

std::string digest_of(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes.data(), bytes.size());
  const auto digest = hash.digest_bytes();
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

class Contents {
 public:
  void add(std::uint64_t number) {
    for (unsigned bit = 0; bit < 64; bit += 8) bytes_.push_back(static_cast<char>(number >> bit & 0xff));
  }
  void add(std::string_view text) {
    add(text.size());
    bytes_ += text;
  }
  void add(const std::vector<std::uint8_t>& blob) { add(std::string_view(reinterpret_cast<const char*>(blob.data()), blob.size())); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Throws Error where the contents end too early.
class ContentsReader {
 public:
  explicit ContentsReader(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t number() {
    std::uint64_t number = 0;
    unsigned bit = 0;
    for (const char byte : take(8)) number |= std::uint64_t{static_cast<unsigned char>(byte)} << bit, bit += 8;
    return number;
  }
  std::string_view text() { return take(number()); }
  std::vector<std::uint8_t> blob() {
    const std::string_view bytes = text();
    return {bytes.begin(), bytes.end()};
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) throw Error("it is damaged: a length in it is beyond its end");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
};

// The whole file. Only what was read is allocated, whatever size the file claims.
std::string bytes_of(const std::string& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) throw Error(std::string("it cannot be read: ") + std::strerror(errno));
  if (!S_ISREG(status.st_mode)) throw Error("it is not a file");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Error(std::string("it cannot be read: ") + std::strerror(errno));
  std::string bytes;
  std::array<char, 1 << 16> piece;
  while (stream.read(piece.data(), piece.size()), stream.gcount() > 0) {
    bytes.append(piece.data(), static_cast<std::size_t>(stream.gcount()));
    if (!bytes.starts_with(kFirstLine)) break;
  }
  if (stream.bad()) throw Error("it cannot be read to its end");
  return bytes;
}

Checkpoint checkpoint_of(ContentsReader contents) {
  Checkpoint checkpoint;
  checkpoint.identity = contents.text();
  checkpoint.progress = nlohmann::json::parse(contents.text());
  const std::uint64_t ranks = contents.number();
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    Blobs& blobs = checkpoint.ranks.emplace_back();
    for (std::uint64_t left = contents.number(); left > 0; --left) {
      const std::string name(contents.text());
      blobs[name] = contents.blob();
    }
  }
  if (!contents.at_end()) throw Error("it is damaged: something follows its end");
  return checkpoint;
}

}  // namespace

void write_checkpoint(const std::string& file, const Checkpoint& checkpoint) {
  Contents contents;
  contents.add(std::string_view(checkpoint.identity));
  contents.add(std::string_view(checkpoint.progress.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
  contents.add(std::uint64_t{checkpoint.ranks.size()});
  for (const Blobs& blobs : checkpoint.ranks) {
    contents.add(std::uint64_t{blobs.size()});
    for (const auto& [name, blob] : blobs) {
      contents.add(std::string_view(name));
      contents.add(blob);
    }
  }
  try {
    AtomicFile out(Directory::subfolder_of(file), std::filesystem::path(file).filename().string());
    out.write(kFirstLine);
    out.write(digest_of(contents.bytes()));
    out.write(contents.bytes());
    out.commit();
  } catch (const FileError& error) {
    throw Error(std::string("the checkpoint ") + error.what());
  }
}

Checkpoint read_checkpoint(const std::string& file) {
  const std::string bytes = bytes_of(file);
  std::string_view rest = bytes;
  if (!rest.starts_with(kFirstLine))
    throw Error(rest.starts_with(kAnyFirstLine) ? "it was written by another version of the program" : "it is not a checkpoint of this version");
  rest.remove_prefix(kFirstLine.size());
  if (rest.size() < kDigestBytes || digest_of(rest.substr(kDigestBytes)) != rest.substr(0, kDigestBytes))
    throw Error("it is damaged: its checksum is wrong");
  try {
    return checkpoint_of(ContentsReader(rest.substr(kDigestBytes)));
  } catch (const nlohmann::json::exception& error) {
    throw Error(std::string("it is damaged: ") + error.what());
  }
}

void BlobArchive::write(std::string_view name, const void* data, std::size_t bytes, bool on_host) {
  std::vector<std::uint8_t>& blob = blobs_[prefix_ + std::string(name)];
  blob.resize(bytes);
  if (bytes == 0) return;
  if (on_host) std::memcpy(blob.data(), data, bytes);
  else device_.copy_to_host(blob.data(), data, bytes);
  if (!on_host) device_.synchronize();
}

const std::vector<std::uint8_t>& BlobArchive::find(std::string_view name) const {
  const auto at = blobs_.find(prefix_ + std::string(name));
  if (at == blobs_.end()) throw Error("the checkpoint has no '" + std::string(name) + "'; it was written by another strategy or version");
  return at->second;
}

void BlobArchive::read(std::string_view name, void* data, std::size_t bytes, bool on_host) {
  const std::vector<std::uint8_t>& blob = find(name);
  if (blob.size() != bytes)
    throw Error("the checkpoint's '" + std::string(name) + "' has " + std::to_string(blob.size()) + " bytes, expected " +
                std::to_string(bytes));
  if (bytes == 0) return;
  if (on_host) std::memcpy(data, blob.data(), bytes);
  else device_.copy_to_device(data, blob.data(), bytes);
  if (!on_host) device_.synchronize();
}

}  // namespace mgcompare
