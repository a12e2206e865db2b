#include "base/sha256.h"

#include <openssl/evp.h>

#include <fstream>
#include <vector>

#include "mgcompare/error.h"

namespace mgcompare {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  if (EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) != 1)
    throw Error("OpenSSL does not offer SHA-256; check its configuration");
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::add(const void* data, std::size_t bytes) { EVP_DigestUpdate(state_->context, data, bytes); }

std::array<std::uint8_t, 32> Sha256::digest_bytes() {
  std::array<std::uint8_t, 32> bytes;
  EVP_DigestFinal_ex(state_->context, bytes.data(), nullptr);
  return bytes;
}

std::string Sha256::digest() {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : digest_bytes()) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

std::string sha256(std::string_view text) {
  Sha256 hash;
  hash.add(text.data(), text.size());
  return hash.digest();
}

std::string sha256_of_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  Sha256 hash;
  std::vector<char> bytes(1 << 16);
  while (stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size())) || stream.gcount() > 0)
    hash.add(bytes.data(), static_cast<std::size_t>(stream.gcount()));
  return stream.is_open() && stream.eof() ? hash.digest() : "";
}

}  // namespace mgcompare
