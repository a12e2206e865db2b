// A text is read as characters, or refused with DataError.

#include "data/text_set.h"
#include "memory_file.h"

using namespace mgcompare;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  try {
    const TextTokens text = read_text_tokens(file.path());
    for (const std::int32_t value : text.values)
      if (value < 0 || static_cast<std::size_t>(value) >= text.alphabet.size()) std::abort();
  } catch (const DataError&) {
  }
  return 0;
}
