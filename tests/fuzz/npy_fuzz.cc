// A .npy file is read, or refused with DataError.

#include "data/npy.h"
#include "memory_file.h"

using namespace mgcompare;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  try {
    const NpyArray array = read_npy(file.path());
    if (array.values.size() != array.count() * size_of(array.element)) std::abort();
    if (array.element != ElementType::float32 && array.count() > 0) array.integer(array.count() - 1);
  } catch (const DataError&) {
  }
  return 0;
}
