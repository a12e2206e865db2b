#pragma once

// What the runner and a worker say to each other: frames of a four-byte length (little endian) and one JSON text, numbered
// from 0 in each direction. The reader trusts nothing: a frame that is too long, out of order or not a message throws.

#include <fmt/core.h>

#include <cstdio>
#include <utility>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace mgcompare {

inline constexpr std::size_t kMessageLimit = std::size_t{16} << 20;  // bytes of JSON

struct Message {
  std::string kind;
  nlohmann::json body;
};

// Takes bytes as they come and gives whole messages in order. Throws Error for bytes that cannot be one.
class MessageReader {
 public:
  void feed(std::string_view bytes);
  std::optional<Message> next();

 private:
  std::string waiting_;
  std::size_t used_ = 0;
  std::uint64_t sequence_ = 0;
};

// Writes whole messages to a socket; any thread may send.
class MessageWriter {
 public:
  explicit MessageWriter(int descriptor) : descriptor_(descriptor) {}
  // False when the other side is gone or does not read. Throws Error for a message over the limit.
  bool send(std::string_view kind, const nlohmann::json& body);

 private:
  std::mutex mutex_;
  int descriptor_;
  std::uint64_t sequence_ = 0;
};

// Text from elsewhere (a worker's output, an exception) without escape sequences, control characters and broken UTF-8.
std::string sanitized(std::string_view text);

// Formats to a stream that is beside the results. One that is closed, full or a broken pipe loses the text, never the run.
template <class... Args> void tell(std::FILE* stream, fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  std::fwrite(text.data(), 1, text.size(), stream);
}

// The same to stderr.
template <class... Args> void tell(fmt::format_string<Args...> format, Args&&... args) {
  tell(stderr, format, std::forward<Args>(args)...);
}

}  // namespace mgcompare
