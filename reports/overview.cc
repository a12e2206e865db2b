#include "reports/overview.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>

#include "reports/charts/series.h"
#include "reports/infrastructure.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

bool has_column(const Table& table, const char* name) { return std::find(table.head.begin(), table.head.end(), name) != table.head.end(); }

// Puts a column in front, unless the table has one of this name or of the other.
void put_in_front(Table& table, const char* name, const char* other, const std::string& value) {
  if (has_column(table, name) || has_column(table, other)) return;
  table.head.insert(table.head.begin(), name);
  for (TextRow& line : table.lines) line.insert(line.begin(), value);
  ++table.left;
}

void append(Table& to, Table more) {
  // One table may have more columns at its end, such as those of more epochs.
  if (more.head.size() > to.head.size()) to.head = more.head;
  std::move(more.lines.begin(), more.lines.end(), std::back_inserter(to.lines));
  for (TextRow& line : to.lines) line.resize(to.head.size(), "-");
  for (auto& fact : more.facts)
    if (std::find(to.facts.begin(), to.facts.end(), fact) == to.facts.end()) to.facts.push_back(std::move(fact));
  // Each part explains itself. What it adds to the explanation of the others differs in single sentences only.
  if (to.intro.size() < more.intro.size()) to.intro = std::move(more.intro);
}

void join(std::vector<Table>& all, Table table) {
  if (table.title.empty()) return;
  const auto same = std::find_if(all.begin(), all.end(), [&](const Table& other) { return other.title == table.title; });
  if (same == all.end()) all.push_back(std::move(table));
  else append(*same, std::move(table));
}

// For the id of an element and the name of a file: "lenet-2-x-h200".
std::string slug(const std::string& title) {
  std::string text;
  for (const char c : title) {
    const bool is_word = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (is_word) text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!text.empty() && text.back() != '-') text += '-';
  }
  while (text.ends_with('-')) text.pop_back();
  return text;
}

}  // namespace

Overview::Overview(Comparison comparison) { parts.push_back(std::move(comparison)); }

Overview::Overview(std::vector<Comparison> comparisons) : parts(std::move(comparisons)) {
  if (parts.size() < 2) return;
  const auto looks = std::make_shared<const std::vector<Series>>(all_series(parts));
  for (Comparison& part : parts) part.looks = looks;
}

bool Overview::has_networks() const {
  std::set<std::string> names;
  for (const Comparison& part : parts) names.insert(network_of(part));
  return names.size() > 1;
}

bool Overview::has_runs() const { return runs().size() > 1; }

bool Overview::has_results() const {
  return std::any_of(parts.begin(), parts.end(), [](const Comparison& part) { return part.has_results(); });
}

std::vector<const Comparison*> Overview::runs() const {
  std::vector<const Comparison*> first;
  for (const Comparison& part : parts)
    if (first.empty() || first.back()->run != part.run) first.push_back(&part);
  return first;
}

std::string Overview::title_of(const Comparison& part) const {
  if (parts.size() < 2) return "";
  std::string title = has_networks() ? network_of(part) : "";
  if (has_runs()) title += (title.empty() ? "" : ", ") + part.infrastructure;
  return plain(title);
}

std::string Overview::prefix_of(const Comparison& part) const {
  const std::string title = title_of(part);
  return title.empty() ? "" : title + ": ";
}

std::vector<Table> tables_of(const Overview& overview, const std::function<Table(const Comparison&)>& table) {
  const bool has_networks = overview.has_networks(), has_runs = overview.has_runs();
  std::vector<Table> all;
  for (const Comparison& part : overview.parts) {
    Table one = table(part);
    if (has_networks) put_in_front(one, "network", "model", network_of(part));
    if (has_runs) put_in_front(one, "infrastructure", "infrastructure", part.infrastructure);
    join(all, std::move(one));
  }
  return all;
}

std::vector<Table> run_tables_of(const Overview& overview, const std::function<Table(const Run&)>& table) {
  const bool has_runs = overview.has_runs();
  std::vector<Table> all;
  for (const Comparison* part : overview.runs()) {
    Table one = table(*part->run);
    if (has_runs) put_in_front(one, "infrastructure", "infrastructure", part->infrastructure);
    join(all, std::move(one));
  }
  return all;
}

std::vector<ChartGroup> charts_of(const Overview& overview, const std::function<std::vector<ChartGroup>(const Comparison&)>& charts) {
  if (overview.parts.size() == 1) return charts(overview.parts.front());
  std::vector<ChartGroup> all;
  std::set<std::string> names;
  for (const Comparison& part : overview.parts) {
    const std::string title = overview.title_of(part);
    std::string name = slug(title);
    for (int number = 2; !names.insert(name).second; ++number) name = fmt::format("{}-{}", slug(title), number);
    for (ChartGroup& group : charts(part)) {
      for (Chart& chart : group.charts)
        chart = {fmt::format("{}-{}", chart.id, name), title + (chart.title.empty() ? "" : ", ") + chart.title, chart.spec, chart.headline};
      const auto same = std::find_if(all.begin(), all.end(), [&](const ChartGroup& other) { return other.title == group.title; });
      if (same == all.end()) {
        all.push_back(std::move(group));
        continue;
      }
      std::move(group.charts.begin(), group.charts.end(), std::back_inserter(same->charts));
      same->left_out += group.left_out;
      // Each part has a finding of its own.
      if (same->headline != group.headline) same->headline.clear();
    }
  }
  constexpr std::string_view kScales = " Each panel has its own scales.";
  for (ChartGroup& group : all)
    if (group.charts.size() > 1 && group.caption.find(kScales) == std::string::npos) group.caption += kScales;
  return all;
}

Overview overview_of(const Run& run, Objective objective) { return Overview(compare_networks(run, objective)); }

Overview merged(const std::vector<Run>& runs, Objective objective) {
  const std::vector<std::string> names = short_names(runs);
  std::vector<Comparison> parts;
  for (std::size_t number = 0; number < runs.size(); ++number) {
    for (Comparison& part : compare_networks(runs[number], objective)) {
      if (runs.size() > 1) part.infrastructure = names[number];
      parts.push_back(std::move(part));
    }
  }
  Overview overview(std::move(parts));
  overview.warnings = differences(runs, names);
  return overview;
}

}  // namespace mgcompare
