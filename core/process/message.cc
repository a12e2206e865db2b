#include "process/message.h"

#include <sys/socket.h>

#include <cerrno>
#include <iterator>

#include <fmt/format.h>

#include "base/json_text.h"
#include "mgcompare/error.h"

namespace mgcompare {
namespace {

constexpr std::size_t kHeaderBytes = 4;
constexpr std::size_t kEnvelopeBytes = 128;  // more than kind, sequence number and punctuation take

std::size_t frame_length(std::string_view header) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < kHeaderBytes; ++i) {
    length |= static_cast<std::size_t>(static_cast<unsigned char>(header[i])) << (8 * i);
  }
  return length;
}

// Copying and reading a JSON value are recursive: a deeper one would overflow the stack. Throws Error.
nlohmann::json parse_message(std::string_view text) {
  bool is_too_deep = false;
  const auto limit = [&](int depth, nlohmann::json::parse_event_t, const nlohmann::json&) {
    is_too_deep |= depth > kMessageDepth;
    return !is_too_deep;
  };
  nlohmann::json json = nlohmann::json::parse(text, limit, false);
  if (is_too_deep) throw Error(fmt::format("a message with more than {} levels", kMessageDepth));
  return json;
}

}  // namespace

void MessageReader::feed(std::string_view bytes) {
  if (used_ > 0) waiting_.erase(0, std::exchange(used_, 0));
  waiting_.append(bytes);
}

std::optional<Message> MessageReader::next() {
  const std::string_view rest = std::string_view(waiting_).substr(used_);
  if (rest.size() < kHeaderBytes) return std::nullopt;
  const std::size_t length = frame_length(rest);
  if (length > kMessageLimit) throw Error(fmt::format("a message of {} bytes is over the limit", length));
  if (rest.size() < kHeaderBytes + length) return std::nullopt;
  const nlohmann::json json = parse_message(rest.substr(kHeaderBytes, length));
  used_ += kHeaderBytes + length;
  if (!json.is_object() || !json.contains("kind") || !json["kind"].is_string() || !json.contains("sequence") ||
      !json.contains("body")) {
    throw Error("a frame that is not a message");
  }
  if (json["sequence"] != sequence_) throw Error(fmt::format("message {} twice or not at all; a copy of its process (fork) may have answered, too", sequence_));
  ++sequence_;
  return Message{json["kind"].get<std::string>(), json["body"]};
}

bool MessageWriter::send(std::string_view kind, const nlohmann::json& body) {
  const std::string content = json_text(body);
  if (content.size() + kEnvelopeBytes > kMessageLimit)
    throw Error(fmt::format("a message of {} bytes, over the limit of {}", content.size(), kMessageLimit));
  std::string frame;
  frame.reserve(kHeaderBytes + content.size() + kEnvelopeBytes);
  // Nothing throws under the lock: after an exception there, a terminate handler that sends would wait for ever.
  const std::lock_guard lock(mutex_);
  frame.append(kHeaderBytes, '\0');
  fmt::format_to(std::back_inserter(frame), R"({{"kind":"{}","sequence":{},"body":{}}})", kind, sequence_, content);
  const std::size_t length = frame.size() - kHeaderBytes;
  ++sequence_;
  for (std::size_t i = 0; i < kHeaderBytes; ++i) frame[i] = static_cast<char>((length >> (8 * i)) & 0xff);
  std::string_view left = frame;
  while (!left.empty()) {
    const ssize_t sent = ::send(descriptor_, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace mgcompare
