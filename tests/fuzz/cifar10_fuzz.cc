// A file of CIFAR-10 records is read, or refused with DataError.

#include "data/cifar10.h"
#include "memory_file.h"

using namespace mgcompare;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  try {
    const Cifar10Records records = read_cifar10_file(file.path());
    if (records.images.size() != records.labels.size() * 3072) std::abort();
  } catch (const DataError&) {
  }
  return 0;
}
