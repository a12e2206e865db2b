#pragma once

// The messages of docs/backend-protocol.md, as a backend sends them. Nothing of it is trusted: sizes, types, names and ranges are
// checked.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "mgcompare/error.h"

namespace mgcompare {

// A message is not as the protocol has it. what() is the rest of a sentence about the backend: "sent a line of more than ...".
class WrongMessage : public Error {
 public:
  using Error::Error;
};

inline constexpr std::size_t kLineLimit = std::size_t{1} << 20;  // bytes of a message

// One message with its type; the id was checked.
struct BackendMessage {
  std::string type;
  nlohmann::json body;
};

// Turns a stream of bytes into messages.
class BackendReader {
 public:
  void feed(std::string_view bytes);
  // The next message, which must have this id. Throws WrongMessage.
  std::optional<BackendMessage> next(int id);

 private:
  std::string waiting_;
  std::size_t begin_ = 0;           // of the next line
  std::size_t searched_ = 0;        // up to here there is no end of it
};

// The line of a request.
std::string line_of(const nlohmann::json& request);

// Fields of messages. They throw WrongMessage for a value that is missing (unless there is a default), of another type or out of range.
std::string text_in(const nlohmann::json& body, const char* key, std::size_t most_bytes = 8 << 10);
std::string text_in(const nlohmann::json& body, const char* key, const std::string& default_value, std::size_t most_bytes = 8 << 10);
double number_in(const nlohmann::json& body, const char* key, double least, double most);
std::uint64_t count_in(const nlohmann::json& body, const char* key, std::uint64_t most);
// A list of at most a hundred texts; empty if it is missing.
std::vector<std::string> texts_in(const nlohmann::json& body, const char* key);

// What a backend says of an epoch. `loss` is nan if it is not finite.
struct EpochReport {
  double seconds = 0, loss = 0;
  std::uint64_t samples = 0, steps = 0;
};
EpochReport epoch_report_in(const nlohmann::json& body);

// What it says at the end.
struct EndReport {
  std::uint64_t peak_memory = 0;
  double bytes_per_step = 0;
};
EndReport end_report_in(const nlohmann::json& body);

// Throws the Error, OutOfMemory or other exception with which a message of type "error" ends a request (results/cause.h).
[[noreturn]] void throw_reported(const nlohmann::json& body);

}  // namespace mgcompare
