#pragma once

#include <cstddef>

namespace mgcompare {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Memory that begins at a huge page, in huge pages where the system has them; null if there is not enough. Layers walk through many
// planes at once, which would need a TLB entry each. Release it with std::free().
void* allocate_huge_pages(std::size_t bytes);

}  // namespace mgcompare
