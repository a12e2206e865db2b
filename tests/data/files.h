#pragma once

// Valid and invalid IDX files for tests.

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace mgcompare {

using Bytes = std::vector<std::uint8_t>;

// A temporary directory for each test. The destructor removes it.
class Folder {
 public:
  Folder() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string(test->test_suite_name()) + "." + test->name();
    for (char& c : name) c = c == '/' ? '_' : c;
    path_ = std::filesystem::path(::testing::TempDir()) / (name + "." + std::to_string(getpid()));
    std::filesystem::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string path(const std::string& name = "") const { return (path_ / name).string(); }
  std::string write(const std::string& name, const Bytes& bytes) const {
    std::ofstream(path(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return path(name);
  }

 private:
  std::filesystem::path path_;
};

inline void append(Bytes& bytes, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::uint8_t>(value >> shift));
}

inline Bytes idx(std::uint32_t magic, const std::vector<std::uint32_t>& counts, std::size_t values,
                 std::uint8_t value = 1) {
  Bytes bytes;
  append(bytes, magic);
  for (const std::uint32_t count : counts) append(bytes, count);
  bytes.resize(bytes.size() + values, value);
  return bytes;
}
inline Bytes images(std::uint32_t samples) { return idx(0x803, {samples, 4, 3}, samples * 12); }
inline Bytes labels(std::uint32_t samples) { return idx(0x801, {samples}, samples, 7); }

// Compresses the bytes followed by the given number of zeros, without holding the zeros in memory.
inline Bytes gzip(const Bytes& bytes, std::size_t zeros = 0) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
  const Bytes blank(1u << 20);
  Bytes packed, room(1u << 16);
  const auto add = [&](const std::uint8_t* data, std::size_t size, int flush) {
    stream.next_in = const_cast<std::uint8_t*>(data);
    stream.avail_in = static_cast<unsigned>(size);
    do {
      stream.next_out = room.data();
      stream.avail_out = static_cast<unsigned>(room.size());
      deflate(&stream, flush);
      packed.insert(packed.end(), room.data(), stream.next_out);
    } while (stream.avail_out == 0);
  };
  add(bytes.data(), bytes.size(), Z_NO_FLUSH);
  for (; zeros > 0; zeros -= std::min(zeros, blank.size()))
    add(blank.data(), std::min(zeros, blank.size()), Z_NO_FLUSH);
  add(nullptr, 0, Z_FINISH);
  deflateEnd(&stream);
  return packed;
}

// A gzip file of which the checksum at the end is wrong, or the end is missing.
inline Bytes with_wrong_checksum(Bytes packed) {
  packed[packed.size() - 6] ^= 0x10;
  return packed;
}
inline Bytes without_end(Bytes packed) {
  packed.resize(packed.size() - 12);
  return packed;
}

}  // namespace mgcompare
