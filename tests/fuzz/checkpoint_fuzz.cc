// A checkpoint is read, or refused with Error.

#include "memory_file.h"
#include "mgcompare/error.h"
#include "runtime/checkpoint.h"

using namespace mgcompare;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  try {
    read_checkpoint(file.path());
  } catch (const Error&) {
  }
  return 0;
}
