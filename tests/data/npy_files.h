#pragma once

// Writes .npy files for tests.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace mgcompare {

// A file with this text as header, padded as NumPy does.
inline std::vector<std::uint8_t> npy_file(std::string header, const std::vector<std::uint8_t>& values, int version = 1) {
  const std::size_t before = version == 1 ? 10 : 12;
  while ((before + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::vector<std::uint8_t> file = {0x93, 'N', 'U', 'M', 'P', 'Y', static_cast<std::uint8_t>(version), 0};
  for (std::size_t i = 0; i < before - 8; ++i) file.push_back(static_cast<std::uint8_t>(header.size() >> (8 * i)));
  file.insert(file.end(), header.begin(), header.end());
  file.insert(file.end(), values.begin(), values.end());
  return file;
}

template <class Value>
std::vector<std::uint8_t> npy(const std::string& descr, const std::vector<std::size_t>& shape, const std::vector<Value>& values,
                              int version = 1) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(Value));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  const std::string comma = shape.size() == 1 ? "," : "";
  return npy_file(fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr, fmt::join(shape, ", "), comma),
                  bytes, version);
}

}  // namespace mgcompare
