#include "runtime/checkpoint.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>

#include <fmt/core.h>

#include "base/atomic_file.h"
#include "base/descriptor.h"
#include "base/error_text.h"
#include "base/json_text.h"
#include "base/sha256.h"
#include "mgcompare/error.h"

namespace mgcompare {
namespace {

// A file: this line, the number of bytes of the contents, their SHA-256, then the contents. Numbers are 64 bits, lowest byte
// first; texts and blobs follow their length.
constexpr std::string_view kFirstLine = "mgcompare.checkpoint/4\n";
constexpr std::string_view kAnyFirstLine = kFirstLine.substr(0, kFirstLine.find('/') + 1);
constexpr std::size_t kNumberBytes = 8, kDigestBytes = 32;
constexpr std::size_t kHeaderBytes = kFirstLine.size() + kNumberBytes + kDigestBytes;

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
  void add(const std::vector<Blobs>& ranks) {
    add(std::uint64_t{ranks.size()});
    for (const Blobs& blobs : ranks) {
      add(std::uint64_t{blobs.size()});
      for (const auto& [name, blob] : blobs) {
        add(std::string_view(name));
        add(blob);
      }
    }
  }
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
  std::vector<Blobs> ranks() {
    std::vector<Blobs> all;
    for (std::uint64_t rank = number(); rank > 0; --rank) {
      Blobs& blobs = all.emplace_back();
      for (std::uint64_t left = number(); left > 0; --left) {
        const std::string name(text());
        blobs[name] = blob();
      }
    }
    return all;
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

// A file whose size was checked before it is read.
class CheckpointFile {
 public:
  // A pipe in its place must not block the program.
  explicit CheckpointFile(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat status {};
    if (file_.number() < 0 || fstat(file_.number(), &status) != 0) fail();
    if (!S_ISREG(status.st_mode)) throw Error("it is not a file");
    size_ = static_cast<std::uint64_t>(status.st_size);
  }

  // What follows the header. Nothing is allocated for it before its size is known to be right.
  std::string contents(std::uint64_t most_bytes) {
    const std::string header = read(std::min<std::uint64_t>(size_, kHeaderBytes));
    const std::string_view view = header;
    if (!view.starts_with(kFirstLine))
      throw Error(view.starts_with(kAnyFirstLine) ? "it was written by another version of the program"
                                                  : "it is not a checkpoint of this version");
    if (size_ < kHeaderBytes) throw Error("it is damaged: it ends within its header");
    const std::uint64_t stated = ContentsReader(view.substr(kFirstLine.size())).number(), found = size_ - kHeaderBytes;
    if (stated != found)
      throw Error(fmt::format("it is damaged: {} bytes follow its header, which says {}", found, stated));
    if (found > most_bytes)
      throw Error(fmt::format("it is too large: {} bytes follow its header, and this training has at most {}", found, most_bytes));
    std::string bytes = read(found);
    if (digest_of(bytes) != view.substr(kHeaderBytes - kDigestBytes)) throw Error("it is damaged: its checksum is wrong");
    return bytes;
  }

 private:
  [[noreturn]] static void fail() { throw Error("it cannot be read: " + error_text(errno)); }

  std::string read(std::uint64_t count) {
    std::string bytes(count, '\0');
    for (std::size_t done = 0; done < count;) {
      const ssize_t got = ::read(file_.number(), bytes.data() + done, count - done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail();
      if (got == 0) throw Error("it became shorter while it was read");
      done += static_cast<std::size_t>(got);
    }
    return bytes;
  }

  Descriptor file_;
  std::uint64_t size_ = 0;
};

Checkpoint checkpoint_of(ContentsReader contents) {
  Checkpoint checkpoint;
  checkpoint.identity = contents.text();
  checkpoint.progress = nlohmann::json::parse(contents.text());
  checkpoint.ranks = contents.ranks();
  if (!contents.at_end()) throw Error("it is damaged: something follows its end");
  return checkpoint;
}

// No file can replace a directory. What it contains is not the program's to delete.
void set_directory_aside(const Directory& folder, const std::string& name) {
  struct stat status {};
  if (fstatat(folder.descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(status.st_mode)) return;
  if (unlinkat(folder.descriptor(), name.c_str(), AT_REMOVEDIR) == 0) return;
  for (int number = 1; number <= 100; ++number) {
    const std::string aside = fmt::format("{}.directory{}", name, number);
    if (renameat2(folder.descriptor(), name.c_str(), folder.descriptor(), aside.c_str(), RENAME_NOREPLACE) == 0 || errno != EEXIST) return;
  }
}

}  // namespace

bool write_checkpoint(const std::string& file, const Checkpoint& checkpoint, std::uint64_t most_bytes) {
  Contents contents;
  contents.add(std::string_view(checkpoint.identity));
  contents.add(std::string_view(json_text(checkpoint.progress)));
  contents.add(checkpoint.ranks);
  if (contents.bytes().size() > most_bytes) return false;
  Contents size;
  size.add(std::uint64_t{contents.bytes().size()});
  try {
    const std::string name = std::filesystem::path(file).filename().string();
    Directory folder = Directory::subfolder_of(file);
    set_directory_aside(folder, name);
    AtomicFile out(std::move(folder), name);
    out.write(kFirstLine);
    out.write(size.bytes());
    out.write(digest_of(contents.bytes()));
    out.write(contents.bytes());
    out.commit();
  } catch (const FileError& error) {
    throw Error(std::string("the checkpoint ") + error.what());
  }
  return true;
}

Checkpoint read_checkpoint(const std::string& file, std::uint64_t most_bytes) {
  const std::string bytes = CheckpointFile(file).contents(most_bytes);
  try {
    return checkpoint_of(ContentsReader(bytes));
  } catch (const nlohmann::json::exception& error) {
    throw Error(std::string("it is damaged: ") + error.what());
  }
}

std::string bytes_of(const std::vector<Blobs>& ranks) {
  Contents contents;
  contents.add(ranks);
  return contents.bytes();
}

std::vector<Blobs> ranks_of(std::string_view bytes) { return ContentsReader(bytes).ranks(); }

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
  if (at == blobs_.end()) {
    std::string names;
    for (const auto& [known, blob] : blobs_)
      if (known.starts_with(prefix_)) names += (names.empty() ? "" : ", ") + known.substr(prefix_.size());
    throw Error("the checkpoint has no '" + std::string(name) + "' but " + (names.empty() ? "nothing" : names) +
                ": save() and restore() must name the same, or another strategy or version wrote it");
  }
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
