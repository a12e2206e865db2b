#pragma once

// SHA-256.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace mgcompare {

// For bytes that come in pieces. Throws Error where OpenSSL does not offer SHA-256.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void add(const void* data, std::size_t bytes);
  // Either one ends the computation: call it once, and nothing after it.
  std::array<std::uint8_t, 32> digest_bytes();
  std::string digest();  // 64 hexadecimal digits, lower case

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The hexadecimal digest of one text.
std::string sha256(std::string_view text);
// That of a file's bytes; empty if the file cannot be read.
std::string sha256_of_file(const std::string& path);

}  // namespace mgcompare
