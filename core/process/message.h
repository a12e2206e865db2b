#pragma once

// Messages between the runner and a worker: frames of a four-byte little-endian length and one JSON text, numbered from 0 in
// each direction. The reader does not trust the sender: a frame that is too long, out of order or not a message is an error.

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace mgcompare {

// Bytes of JSON. The longest result, of kMostEvaluations epochs, has 500 to 700 for each.
inline constexpr std::size_t kMessageLimit = std::size_t{128} << 20;
inline constexpr int kMessageDepth = 64;  // levels of lists and objects

struct Message {
  std::string kind;
  nlohmann::json body;
};

// Turns a stream of bytes into messages. Throws Error for invalid bytes.
class MessageReader {
 public:
  void feed(std::string_view bytes);
  std::optional<Message> next();

 private:
  std::string waiting_;
  std::size_t used_ = 0;
  std::uint64_t sequence_ = 0;
};

// Writes messages to a socket. Thread-safe.
class MessageWriter {
 public:
  explicit MessageWriter(int descriptor) : descriptor_(descriptor) {}
  // Returns false if the other process has ended or does not read. Throws Error for a message over the limit.
  bool send(std::string_view kind, const nlohmann::json& body);

 private:
  std::mutex mutex_;
  int descriptor_;
  std::uint64_t sequence_ = 0;
};

}  // namespace mgcompare
