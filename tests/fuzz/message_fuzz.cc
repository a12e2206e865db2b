// What a worker sends is a sequence of messages, or an error. As in the supervisor, any exception is one.

#include <algorithm>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

#include "process/message.h"
#include "results/result.h"
#include "results/trial_progress.h"

using namespace mgcompare;

namespace {

void interpret(const Message& message) {
  if (message.kind == "progress") progress_from_json(message.body);
  if (message.kind == "answer") nlohmann::json(message.body.get<Result>()).dump();
}

}  // namespace

// The first byte says in how many pieces the rest arrives.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t piece = rest.size() / (data[0] + 1u) + 1;
  MessageReader reader;
  try {
    while (!rest.empty()) {
      reader.feed(rest.substr(0, piece));
      rest.remove_prefix(std::min(piece, rest.size()));
      while (const std::optional<Message> message = reader.next()) interpret(*message);
    }
  } catch (const std::exception&) {
  }
  return 0;
}
