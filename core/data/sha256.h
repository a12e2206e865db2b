#pragma once

// SHA-256 over bytes that come in pieces; hexadecimal, lower case.

#include <cstddef>
#include <memory>
#include <string>

namespace mgcompare {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void add(const void* data, std::size_t bytes);
  // 64 digits of everything added so far; nothing may be added after it.
  std::string digest();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mgcompare
