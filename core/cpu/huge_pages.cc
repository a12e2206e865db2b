#include "cpu/huge_pages.h"

#include <sys/mman.h>

#include <cstdlib>

namespace mgcompare {

void* allocate_huge_pages(std::size_t bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, kHugePage, bytes) != 0) return nullptr;
  // Only a hint: without huge pages it is slower, not wrong.
  madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  return memory;
}

}  // namespace mgcompare
