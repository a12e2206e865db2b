// A file of tokens is read, or refused with DataError.

#include "data/tokens.h"
#include "memory_file.h"

using namespace mgcompare;

// The first byte is the length of a line that is asked for.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const MemoryFile file(data + 1, size - 1);
  try {
    const TokenLines lines = read_tokens(file.path(), data[0] % 16, 128);
    if (lines.values.size() != lines.lines() * lines.length) std::abort();
    for (const std::int32_t value : lines.values)
      if (value < 0 || value >= 128) std::abort();
  } catch (const DataError&) {
  }
  return 0;
}
