#include "plan/baseline_reruns.h"

#include <algorithm>
#include <set>
#include <string>

namespace mgcompare {
namespace {

constexpr std::size_t kTrialsPerBracket = 4;

}  // namespace

int bracket_count(const Config& config) {
  if (config.measure.level == MeasureLevel::quick) return 2;
  return config.measure.level == MeasureLevel::thorough ? std::max(3, static_cast<int>(config.seeds.size()) + 1) : 3;
}

std::vector<Trial> with_brackets(const std::vector<Trial>& trials, std::vector<Trial> brackets) {
  std::set<std::string> rows;
  std::vector<std::string> own;     // bracketed rows, in the order of a position
  for (const Trial& trial : trials) rows.insert(row_name(trial));
  std::erase_if(brackets, [&](const Trial& bracket) { return !rows.contains(row_name(bracket)); });
  for (const Trial& bracket : brackets)
    if (std::find(own.begin(), own.end(), row_name(bracket)) == own.end()) own.push_back(row_name(bracket));
  if (own.empty() || own.size() == rows.size()) return trials;
  const auto place_count = [&] { return std::min(brackets.size(), trials.size() / kTrialsPerBracket) / own.size(); };
  // With too few trials for all rows, the first ones are bracketed.
  for (; place_count() < 2 && own.size() > 1; own.pop_back())
    std::erase_if(brackets, [&](const Trial& bracket) { return row_name(bracket) == own.back(); });
  const std::size_t places = place_count();
  if (places < 2) return trials;

  std::vector<Trial> all;
  auto next = brackets.begin();
  for (std::size_t place = 0, begin = 0; place < places; ++place) {
    const std::size_t end = (place * trials.size() + (places - 1) / 2) / (places - 1);
    all.insert(all.end(), trials.begin() + static_cast<std::ptrdiff_t>(begin), trials.begin() + static_cast<std::ptrdiff_t>(end));
    const auto last = next + static_cast<std::ptrdiff_t>(own.size());
    all.insert(all.end(), next, last);
    next = last;
    begin = end;
  }
  return all;
}

}  // namespace mgcompare
