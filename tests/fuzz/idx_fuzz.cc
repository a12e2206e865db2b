// An IDX file is read, or refused with DataError.

#include "data/idx.h"
#include "memory_file.h"

using namespace mgcompare;

namespace {

template <class Read>
void expect_array_or_error(Read read) {
  try {
    read();
  } catch (const DataError&) {
  }
}

}  // namespace

// The first byte says where the file of labels begins.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t images = (size - 1) * data[0] / 255;
  const MemoryFile first(data + 1, images), second(data + 1 + images, size - 1 - images);
  expect_array_or_error([&] { read_idx(first.path(), 3); });
  expect_array_or_error([&] { read_idx(second.path(), 1); });
  expect_array_or_error([&] { read_labelled({first.path(), second.path()}, 10); });
  return 0;
}
