#include "cpu/huge_pages.h"

#include <sys/mman.h>

#include <cstdlib>

namespace mgcompare {

void* allocate_huge_pages(std::size_t bytes) {
  void* const memory = std::aligned_alloc(kHugePage, bytes);
  // Only a hint: without huge pages it is slower, not wrong.
  if (memory != nullptr) madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  return memory;
}

}  // namespace mgcompare
