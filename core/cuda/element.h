#pragma once

// Types in which a GPU stores activations and their gradients.

#include <cstddef>
#include <cstdint>

namespace mgcompare::cuda {

enum class Element : std::uint8_t { fp32, bf16 };

inline std::size_t bytes_of(Element element) { return element == Element::bf16 ? 2 : 4; }

}  // namespace mgcompare::cuda
