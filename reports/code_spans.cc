#include "reports/code_spans.h"

#include <algorithm>
#include <cctype>

namespace mgcompare {
namespace {

bool is_code(std::string_view text) {
  return !text.empty() && text.front() != ' ' && text.back() != ' ' && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view(" _-.,:;=+/%()[]{}").find(c) != std::string_view::npos;
  });
}

}  // namespace

std::vector<SentencePart> parts_of_sentence(std::string_view sentence) {
  std::vector<SentencePart> parts;
  const auto is_tick = [&](std::size_t at) { return at < sentence.size() && sentence[at] == '`'; };
  std::size_t begin = 0;            // of the text before the next code
  for (std::size_t open = sentence.find('`'); open != std::string_view::npos;) {
    const std::size_t close = sentence.find('`', open + 1);
    if (close == std::string_view::npos) break;
    const bool is_single = (open == 0 || !is_tick(open - 1)) && !is_tick(close + 1);
    if (!is_single || !is_code(sentence.substr(open + 1, close - open - 1))) {
      open = close;
      continue;
    }
    if (open > begin) parts.push_back({sentence.substr(begin, open - begin), false});
    parts.push_back({sentence.substr(open + 1, close - open - 1), true});
    begin = close + 1;
    open = sentence.find('`', begin);
  }
  if (begin < sentence.size()) parts.push_back({sentence.substr(begin), false});
  return parts;
}

}  // namespace mgcompare
