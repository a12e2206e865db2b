#pragma once

// Arrays of NumPy (.npy, versions 1 to 3; numpy.org, "numpy.lib.format"). Files are untrusted: for any content, reading
// returns an array or throws one DataError that names the file and what is wrong. The values are mapped, not copied.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"

namespace mgcompare {

struct NpyArray {
  ElementType element = ElementType::uint8;
  std::vector<std::size_t> shape;
  SharedBytes values;               // product of shape, little-endian, in C order, aligned to the element
  MappedFile file;                  // that holds them

  std::size_t count() const;
  // Value i as an integer; not for float32.
  std::int64_t integer(std::size_t i) const;
};

// What an array is for, as far as advice depends on it.
enum class NpyContent { samples, labels };

// uint8, float32, int32 and int64 in C order; labels are integers.
NpyArray read_npy(const std::string& path, NpyContent content = NpyContent::samples);

}  // namespace mgcompare
