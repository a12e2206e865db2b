#include "backends/messages.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/text.h"
#include "results/cause.h"

namespace mgcompare {
namespace {

using Json = nlohmann::json;

constexpr int kMostLevels = 16;
constexpr std::size_t kMostTexts = 100;
constexpr double kMostSeconds = 1e9;
constexpr std::uint64_t kMostSamples = std::uint64_t{1} << 40;

// The beginning of what was sent, for a message to the user.
std::string excerpt(std::string_view line) {
  constexpr std::size_t kBytes = 80;
  return fmt::format("'{}{}'", plain(line.substr(0, kBytes)), line.size() > kBytes ? "..." : "");
}

BackendMessage message_in(std::string_view line, int id) {
  bool is_too_deep = false;
  const Json json = Json::parse(line, [&](int depth, Json::parse_event_t, const Json&) {
    is_too_deep |= depth > kMostLevels;
    return !is_too_deep;
  }, false);
  if (is_too_deep) throw WrongMessage(fmt::format("sent a message with more than {} levels", kMostLevels));
  if (!json.is_object()) throw WrongMessage(fmt::format("sent {}, which is not a JSON object; only messages may go to descriptor 4", excerpt(line)));
  const auto type = json.find("type"), sent = json.find("id");
  if (type == json.end() || !type->is_string()) throw WrongMessage(fmt::format("sent a message without a `type`: {}", excerpt(line)));
  if (sent == json.end() || !sent->is_number_integer() || *sent != id)
    throw WrongMessage(fmt::format("sent a message with the id {}, but the request has {}",
                                   sent == json.end() ? "(none)" : excerpt(sent->dump(-1, ' ', true, Json::error_handler_t::replace)), id));
  return {type->get<std::string>(), json};
}

const Json& value_in(const Json& body, const char* key) {
  const auto found = body.find(key);
  if (found == body.end()) throw WrongMessage(fmt::format("sent '{}' without `{}`", plain(body.value("type", "")), key));
  return *found;
}

[[noreturn]] void refuse(const Json& body, const char* key, const std::string& expected) {
  throw WrongMessage(fmt::format("sent '{}' with a `{}` that is not {}: {}", plain(body.value("type", "")), key, expected,
                          excerpt(body.at(key).dump(-1, ' ', true, Json::error_handler_t::replace))));
}

}  // namespace

void BackendReader::feed(std::string_view bytes) {
  if (begin_ > 0) waiting_.erase(0, begin_);
  searched_ -= begin_;
  begin_ = 0;
  waiting_.append(bytes);
}

std::optional<BackendMessage> BackendReader::next(int id) {
  const std::size_t end = waiting_.find('\n', searched_);
  searched_ = end == std::string::npos ? waiting_.size() : end;
  if (searched_ - begin_ > kLineLimit) throw WrongMessage(fmt::format("sent a line of more than {} bytes", kLineLimit));
  if (end == std::string::npos) return std::nullopt;
  const std::string line = waiting_.substr(begin_, end - begin_);
  begin_ = searched_ = end + 1;
  return message_in(line, id);
}

std::string line_of(const Json& request) { return request.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

std::string text_in(const Json& body, const char* key, std::size_t most_bytes) {
  const Json& value = value_in(body, key);
  if (!value.is_string() || value.get_ref<const std::string&>().size() > most_bytes)
    refuse(body, key, fmt::format("a text of at most {} bytes", most_bytes));
  return plain(value.get_ref<const std::string&>());
}

std::string text_in(const Json& body, const char* key, const std::string& default_value, std::size_t most_bytes) {
  return body.contains(key) ? text_in(body, key, most_bytes) : default_value;
}

double number_in(const Json& body, const char* key, double least, double most) {
  const Json& value = value_in(body, key);
  const double number = value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
  if (!(number >= least && number <= most)) refuse(body, key, fmt::format("a number from {:g} to {:g}", least, most));
  return number;
}

std::uint64_t count_in(const Json& body, const char* key, std::uint64_t most) {
  const Json& value = value_in(body, key);
  const bool is_count = value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
  if (!is_count || value.get<std::uint64_t>() > most) refuse(body, key, fmt::format("a whole number from 0 to {}", most));
  return value.get<std::uint64_t>();
}

std::vector<std::string> texts_in(const Json& body, const char* key) {
  std::vector<std::string> texts;
  if (!body.contains(key)) return texts;
  const Json& list = body.at(key);
  if (!list.is_array() || list.size() > kMostTexts) refuse(body, key, fmt::format("a list of at most {} texts", kMostTexts));
  for (const Json& text : list) {
    if (!text.is_string()) refuse(body, key, "a list of texts");
    texts.push_back(plain(shortened(text.get_ref<const std::string&>(), 400)));
  }
  return texts;
}

EpochReport epoch_report_in(const Json& body) {
  EpochReport report;
  report.seconds = number_in(body, "seconds", 0, kMostSeconds);
  report.samples = count_in(body, "samples", kMostSamples);
  report.steps = count_in(body, "steps", kMostSamples);
  // JSON has no nan. Cross-entropy is negative by rounding only.
  report.loss = value_in(body, "loss").is_null() ? std::numeric_limits<double>::quiet_NaN() : number_in(body, "loss", -0.01, std::numeric_limits<double>::max());
  return report;
}

EndReport end_report_in(const Json& body) {
  return {count_in(body, "peak_memory", std::uint64_t{1} << 50), number_in(body, "bytes_per_step", 0, 1e18)};
}

void throw_reported(const Json& body) {
  const std::string text = text_in(body, "text", 64 << 10), kind = text_in(body, "kind", "failed");
  const std::string sentence = shortened(text.empty() ? "the backend reports an error without a text" : text);
  if (kind == "failed") throw Error(sentence);
  if (kind == "diverged") throw Diverged(sentence);
  if (kind == "out_of_memory") throw EndedAs(TrialStatus::out_of_memory, sentence);
  if (kind == "unavailable") throw EndedAs(TrialStatus::unavailable, sentence);
  throw WrongMessage(fmt::format("sent an error of the unknown kind '{}': {}", kind, sentence));
}

}  // namespace mgcompare
