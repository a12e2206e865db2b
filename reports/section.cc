#include "reports/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "reports/code_spans.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

using Data = kainjow::mustache::data;

// Longer tables are cut on the page.
constexpr std::size_t kMaxLines = 400;
// Longer tables are printed only if they are open.
constexpr std::size_t kLongTable = 60;

// Marks in the text instead of a structure for each cell, because a table has thousands of them.
std::string figure_text(const std::string& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string::npos) return plain(text);
  std::string below = plain(text.substr(end + 1));
  if (below.starts_with('['))  // a range stays on one line
    for (std::size_t at = 0; (at = below.find(' ', at)) != std::string::npos;) below.replace(at, 1, "\u00a0");
  return plain(text.substr(0, end)) + kBelow + below + kEndOfBelow;
}

// The first `left` columns are text; column `header` is the name of the line. The others are figures.
Data line_data(const TextRow& line, std::size_t left, std::size_t header) {
  Data before{Data::type::list}, words{Data::type::list}, figures{Data::type::list};
  for (std::size_t k = 0; k < line.size(); ++k)
    if (k >= left && k != header)
      figures.push_back(figure_text(line[k]));
    else if (k != header)
      (k < header ? before : words).push_back(plain(line[k]));
  Data data;
  data.set("before", before);
  data.set("name", plain(line[header]));
  data.set("words", words);
  data.set("figures", figures);
  return data;
}

Data table_data(const Table& table, const std::string& id, bool open) {
  const auto strategy = std::find(table.head.begin(), table.head.end(), "strategy");
  const std::size_t header = strategy == table.head.end() ? 0 : static_cast<std::size_t>(strategy - table.head.begin());
  Data lines{Data::type::list};
  for (std::size_t i = 0; i < std::min(kMaxLines, table.lines.size()); ++i)
    lines.push_back(line_data(table.lines[i], table.left, header));
  Data facts{Data::type::list};
  for (const auto& [name, value] : table.facts) {
    Data fact;
    fact.set("name", plain(name));
    fact.set("value", plain(value));
    facts.push_back(fact);
  }
  std::string intro = table.intro;
  if (table.lines.size() > kMaxLines) {
    intro += fmt::format("{}The first {} of {} lines; results.csv has all of them.", intro.empty() ? "" : " ", kMaxLines,
                         count_text(static_cast<double>(table.lines.size())));
  }
  Data data;
  data.set("id", id);
  data.set("title", plain(table.title));
  data.set("intro", text_or_nothing(sentence_text(intro)));
  data.set("facts", facts);
  data.set("head", line_data(table.head, table.left, header));
  data.set("lines", lines);
  data.set("open", open);
  data.set("long", table.lines.size() > kLongTable);
  return data;
}

// "table-speed-up-and-efficiency"
std::string id_of(const Table& table) {
  std::string id = "table";
  bool begins_word = true;
  for (const char c : table.title) {
    const bool is_word = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (is_word && begins_word) id += '-';
    if (is_word) id += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    begins_word = !is_word;
  }
  return id;
}

std::string left_out_text(std::size_t charts) {
  return charts == 0 ? "" : fmt::format("{} more are omitted; results.json has their figures.", charts);
}

}  // namespace

std::string sentence_text(const std::string& text) {
  const std::string clean = plain(text);
  std::string marked;
  for (const auto& [part, is_code] : parts_of_sentence(clean)) {
    if (is_code) marked += kCode;
    marked += part;
    if (is_code) marked += kEndOfCode;
  }
  return marked;
}

Data text_or_nothing(const std::string& text) { return text.empty() ? Data(false) : Data(text); }

Section::Section(const char* id, const char* title, const std::string& intro) : id_(id), title_(title) {
  data_.set("id", id);
  data_.set("title", title);
  data_.set("intro", text_or_nothing(sentence_text(intro)));
  data_.set("static", false);
}

void Section::add(const std::vector<ChartGroup>& groups, const Table& table, Json& charts) {
  for (const ChartGroup& group : groups) {
    const std::string id = group.charts.front().id;
    Data figures{Data::type::list};
    for (const Chart& chart : group.charts) {
      const std::string name = plain(group.title + ", " + chart.title);
      Data figure;
      figure.set("id", chart.id);
      // Of a single chart, the group's title says it.
      figure.set("title", chart.headline.empty() || group.charts.size() == 1 ? chart.title : chart.title + ": " + chart.headline);
      figure.set("name", name);
      figure.set("caption", id + "-caption");
      figures.push_back(figure);
      Json spec = chart.spec;
      // The name for screen readers, and the title of a saved chart.
      spec["description"] = name;
      charts.push_back({{"id", chart.id}, {"spec", spec}});
    }
    Data data, figures_of;
    figures_of.set("id", id_of(table));
    figures_of.set("title", plain(table.title));
    data.set("id", id);
    data.set("title", group.title);
    data.set("headline", text_or_nothing(group.headline));
    data.set("caption", group.caption);
    data.set("table", table.lines.empty() ? Data(false) : figures_of);
    data.set("by_series", group.by_series);
    data.set("charts", figures);
    data.set("left_out", text_or_nothing(left_out_text(group.left_out)));
    groups_.push_back(data);
  }
}

void Section::add(const Table& table, bool open) {
  if (!table.lines.empty()) tables_.push_back(table_data(table, id_of(table), open));
}

void Section::reason(const Reason& reason) {
  Data data;
  data.set("title", reason.title);
  data.set("evidence", sentence_text(reason.evidence));
  data.set("action", sentence_text(reason.action));
  reasons_.push_back(data);
}

void Section::sentence(const std::string& text) { sentences_.push_back(sentence_text(text)); }

void Section::lead(const std::string& text) { leads_.push_back(sentence_text(text)); }

void Section::quote(const std::string& title, const std::string& intro, const std::string& text) {
  Data data;
  data.set("title", plain(title));
  data.set("intro", text_or_nothing(sentence_text(intro)));
  data.set("text", plain_lines(text));
  texts_.push_back(data);
}

void Section::show(const std::string& always, const std::string& fallback, const char* description) {
  Data data;
  data.set("always", text_or_nothing(always));
  data.set("fallback", text_or_nothing(fallback));
  data.set("alt", description);
  data_.set("static", data);
}

Data Section::data() const {
  Data data = data_;
  data.set("groups", groups_);
  data.set("reasons", reasons_);
  data.set("leads", leads_);
  data.set("sentences", sentences_);
  data.set("tables", tables_);
  data.set("texts", texts_);
  return data;
}

}  // namespace mgcompare
