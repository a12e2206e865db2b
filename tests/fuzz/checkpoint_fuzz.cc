// A checkpoint is read, or refused with Error, with a wrong checksum and with the right one.

#include <string>

#include "base/sha256.h"
#include "memory_file.h"
#include "mgcompare/error.h"
#include "runtime/checkpoint.h"

using namespace mgcompare;

namespace {

void read(const std::string& bytes) {
  const MemoryFile file(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  try {
    read_checkpoint(file.path());
  } catch (const Error&) {
  }
}

// Puts the checksum of everything after it behind the first line, which damage would not pass otherwise.
std::string with_checksum(std::string bytes) {
  const std::size_t digest = bytes.find('\n') + 1;
  constexpr std::size_t kDigestBytes = 32;
  if (digest == 0 || bytes.size() - digest < kDigestBytes) return bytes;
  Sha256 hash;
  hash.add(bytes.data() + digest + kDigestBytes, bytes.size() - digest - kDigestBytes);
  const auto sum = hash.digest_bytes();
  return bytes.replace(digest, kDigestBytes, reinterpret_cast<const char*>(sum.data()), sum.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  read(bytes);
  read(with_checksum(bytes));
  return 0;
}
