#include "reports/regression_text.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "base/text_table.h"
#include "reports/text.h"
#include "reports/titles.h"

namespace mgcompare {
namespace {

bool fits(const std::string& lines, std::size_t columns) {
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    if (width_of(std::string_view(lines).substr(begin, end - begin)) > columns) return false;
    begin = end + 1;
  }
  return true;
}

std::string times_text(double factor) { return fmt::format("{:.2f}", factor); }

// The lines of each row: samples/s and time to the target, each with its figure against the run's own baseline, if that decides.
class RowLines {
 public:
  RowLines(const Regression& regression, bool has_ranges) : has_ranges_(has_ranges) {
    for (const RowChange& row : regression.rows) {
      add("samples/s", row.before->samples_per_second, row.after->samples_per_second, rate_text, row.speed.ratio,
          row.by_baseline ? "" : verdict(row.speed, row.change));
      if (row.by_baseline) add("speed-up", row.speed.own_before, row.speed.own_after, times_text, row.speed.own_ratio, verdict(row.speed, row.change));
      if (row.time.ratio.count > 0) {
        add("time to target", row.before->seconds_to_target, row.after->seconds_to_target, seconds_text, row.time.ratio,
            row.by_baseline ? "" : verdict(row.time, row.target_change));
        if (row.by_baseline) add("times as fast", row.time.own_before, row.time.own_after, times_text, row.time.own_ratio, verdict(row.time, row.target_change));
      }
      ends_.push_back(lines_.size());
    }
  }
  std::string text(const Regression& regression) const {
    const std::vector<std::string> lines = text_table(lines_, 1);
    std::string text = "  " + lines[0] + "\n";
    std::size_t line = 1;
    for (std::size_t row = 0; row < regression.rows.size(); ++row) {
      text += regression_title(regression.rows[row]) + "\n";
      for (; line < ends_[row]; ++line) text += "  " + lines[line] + "\n";
    }
    return text;
  }

 private:
  static std::string verdict(const FigureChange& figure, Change change) { return figure.ratio.count > 0 ? std::string(to_string(change)) : "-"; }
  void add(const char* name, const Spread& before, const Spread& after, std::string (*figure)(double), const Spread& ratio, const std::string& verdict) {
    const auto own = [&](const Spread& spread) { return has_ranges_ || spread.count == 0 ? with_range(spread, figure) : figure(spread.median); };
    lines_.push_back({name, own(before), own(after), with_range(ratio), verdict});
  }

  bool has_ranges_;
  std::vector<TextRow> lines_ = {{"", "before", "after", "ratio", "verdict"}};
  std::vector<std::size_t> ends_;
};

}  // namespace

std::string regression_text(const Regression& regression, const Style& style) {
  const std::string table = table_text(regression_table(regression), {false, style.utf8, style.columns});
  if (fits(table, style.columns)) return table_text(regression_table(regression), style);
  std::string text = RowLines(regression, true).text(regression);
  if (!fits(text, style.columns)) text = RowLines(regression, false).text(regression);
  return style.utf8 ? text : ascii(text);
}

}  // namespace mgcompare
