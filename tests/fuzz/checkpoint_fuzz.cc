// A checkpoint is read, or refused with Error, with a wrong header and with the right one.

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
    read_checkpoint(file.path(), 1 << 20);
  } catch (const Error&) {
  }
}

// Puts size and checksum of everything after them behind the first line, which damage would not pass otherwise.
std::string with_header(std::string bytes) {
  const std::size_t header = bytes.find('\n') + 1;
  constexpr std::size_t kSizeBytes = 8, kDigestBytes = 32, kBytes = kSizeBytes + kDigestBytes;
  if (header == 0 || bytes.size() - header < kBytes) return bytes;
  const std::size_t size = bytes.size() - header - kBytes;
  for (std::size_t i = 0; i < kSizeBytes; ++i) bytes[header + i] = static_cast<char>(size >> 8 * i & 0xff);
  Sha256 hash;
  hash.add(bytes.data() + header + kBytes, size);
  const auto sum = hash.digest_bytes();
  return bytes.replace(header + kSizeBytes, kDigestBytes, reinterpret_cast<const char*>(sum.data()), sum.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  read(bytes);
  read(with_header(bytes));
  return 0;
}
