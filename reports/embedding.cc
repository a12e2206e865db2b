#include "reports/embedding.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include "base/sha256.h"

namespace mgcompare {
namespace {

std::string base64(const unsigned char* bytes, std::size_t size) {
  std::string text(4 * ((size + 2) / 3) + 1, '\0');
  text.resize(static_cast<std::size_t>(
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes, static_cast<int>(size))));
  return text;
}

}  // namespace

std::string policy_hash(std::string_view script) {
  Sha256 hash;
  hash.add(script.data(), script.size());
  const auto digest = hash.digest_bytes();
  return fmt::format("'sha256-{}'", base64(digest.data(), digest.size()));
}

std::string image_of(const std::string& svg) {
  return svg.empty() ? ""
                     : "data:image/svg+xml;base64," +
                           base64(reinterpret_cast<const unsigned char*>(svg.data()), svg.size());
}

std::string island(const nlohmann::ordered_json& json) {
  std::string safe;
  for (const char c : json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) {
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  }
  return safe;
}

}  // namespace mgcompare
