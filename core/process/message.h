#pragma once

// What the runner and a worker say to each other: frames of a four-byte length (little endian) and one JSON text, numbered
// from 0 in each direction. The reader trusts nothing: a frame that is too long, out of order or not a message throws.

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

}  // namespace mgcompare
