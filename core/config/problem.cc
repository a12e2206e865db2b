#include "config/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "config/other_names.h"
#include "config/yaml_guard.h"

namespace mgcompare {
namespace {

constexpr std::size_t kMaxShown = 20;
constexpr std::size_t kLineWidth = 120;

// Edit distance: insertions, deletions, replacements and swaps of neighbours.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> steps(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        steps[i][j] = i + j;
        continue;
      }
      const bool same = a[i - 1] == b[j - 1];
      steps[i][j] = std::min({steps[i - 1][j] + 1, steps[i][j - 1] + 1, steps[i - 1][j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        steps[i][j] = std::min(steps[i][j], steps[i - 2][j - 2] + 1);
      }
    }
  }
  return steps[a.size()][b.size()];
}

std::vector<std::string> lines_of(const std::string& file) {
  std::vector<std::string> lines;
  std::string text;
  try {
    text = read_text(file);
  } catch (const Error&) {
    return lines;  // the problem itself is about the file
  }
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// The first `max` characters. Control characters become spaces, and characters that are invisible or change the direction of
// text become U+FFFD.
std::vector<std::string> characters(std::string_view text, std::size_t max) {
  std::vector<std::string> result;
  for (const char byte : text) {
    if (result.size() > max) {
      result.pop_back();
      break;
    }
    if ((static_cast<unsigned char>(byte) & 0xc0u) == 0x80u && !result.empty()) {
      result.back() += byte;
    } else {
      const bool visible = static_cast<unsigned char>(byte) >= 0x20 && byte != 0x7f;  // no control of the terminal
      result.emplace_back(1, visible ? byte : ' ');
    }
  }
  for (std::string& character : result)
    if (plain(character).empty()) character = "\xef\xbf\xbd";
  return result;
}

class Page {
 public:
  std::string show(const Problem& problem) {
    const Place& place = problem.place;
    if (place.line == 0) return without_source(problem, place.file);
    const std::string where = fmt::format("{}:{}:{}", place.file, place.line, place.column);
    const auto [found, fresh] = files_.try_emplace(place.file);
    if (fresh) found->second = lines_of(place.file);
    if (static_cast<std::size_t>(place.line) > found->second.size()) return without_source(problem, where);

    const auto line = characters(found->second[static_cast<std::size_t>(place.line - 1)],
                                 static_cast<std::size_t>(std::max(place.column, 1)) + kLineWidth);
    const std::size_t column = std::min(static_cast<std::size_t>(std::max(place.column, 1) - 1), line.size());
    const std::size_t first = column > kLineWidth / 2 && line.size() > kLineWidth ? column - kLineWidth / 2 : 0;
    std::string source;
    for (std::size_t i = first; i < std::min(line.size(), first + kLineWidth); ++i) source += line[i];
    const std::size_t room = std::max<std::size_t>(std::min(line.size(), first + kLineWidth) - column, 1);
    std::string text = fmt::format("{}: error: {}\n{:5} | {}\n      | {}{}", where, problem.text, place.line, source,
                                   std::string(column - first, ' '),
                                   std::string(std::clamp<std::size_t>(problem.width, 1, room), '^'));
    if (!problem.hint.empty()) text += " " + problem.hint;
    return text + note(problem);
  }

 private:
  // A list of names would be the same below each of several mistakes.
  std::string note(const Problem& problem) {
    return problem.note.empty() || !notes_.insert(problem.note).second ? "" : "\n        " + problem.note;
  }
  std::string without_source(const Problem& problem, const std::string& where) {
    return fmt::format("{}{}error: {}{}{}{}", where, where.empty() ? "" : ": ", problem.text,
                       problem.hint.empty() ? "" : "; ", problem.hint, note(problem));
  }

  std::map<std::string, std::vector<std::string>> files_;
  std::set<std::string> notes_;
};

std::string whole_text(const std::vector<Problem>& problems) {
  std::string text;
  Page page;
  for (std::size_t i = 0; i < std::min(problems.size(), kMaxShown); ++i) text += page.show(problems[i]) + "\n";
  if (problems.size() > kMaxShown) text += fmt::format("and {} more\n", problems.size() - kMaxShown);
  return text + fmt::format("{} error{}", problems.size(), problems.size() == 1 ? "" : "s");
}

}  // namespace

ConfigError::ConfigError(std::vector<Problem> problems) : Error(whole_text(problems)), problems_(std::move(problems)) {}

void throw_problems(std::vector<Problem> problems) {
  if (problems.empty()) return;
  const bool is_config_right = std::all_of(problems.begin(), problems.end(), [](const Problem& p) { return p.of_plugin; });
  const ConfigError error(std::move(problems));
  if (is_config_right) throw Error(error.what());
  throw error;
}

std::string did_you_mean(std::string_view given, const std::vector<std::string>& candidates) {
  if (std::string hint = other_name_hint(given, candidates); !hint.empty()) return hint;
  std::string written(given.substr(0, 65));
  std::transform(written.begin(), written.end(), written.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  // Short words must be close, or every candidate would match.
  const std::size_t limit = std::min<std::size_t>(3, std::max<std::size_t>(1, written.size() / 3));
  std::size_t best = limit + 1;
  std::string_view nearest;
  if (written.size() > 64) return "";
  for (const std::string& candidate : candidates) {
    const std::size_t steps = distance(written, candidate);
    if (steps < best) best = steps, nearest = candidate;
  }
  return nearest.empty() ? "" : fmt::format("did you mean '{}'?", nearest);
}

std::string listed(const std::vector<std::string>& words, std::size_t max) {
  std::string text;
  for (std::size_t i = 0; i < std::min(words.size(), max); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return words.size() > max ? text + fmt::format(" and {} more", words.size() - max) : text;
}

}  // namespace mgcompare
