#include "reports/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <kainjow/mustache.hpp>

#include "reports/assets.h"
#include "reports/charts/chart.h"
#include "reports/drift.h"
#include "reports/embedding.h"
#include "reports/explain.h"
#include "reports/findings.h"
#include "reports/machine.h"
#include "reports/repetition.h"
#include "reports/tables.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

namespace mustache = kainjow::mustache;
using Data = mustache::data;

// A page with more lines than that is no help to anyone.
constexpr std::size_t kMostLines = 400;
// And more than that are none on paper.
constexpr std::size_t kLongTable = 60;

Data text_or_nothing(const std::string& text) { return text.empty() ? Data(false) : Data(text); }

// The first `left` columns are words, and one of them, the header of the line, is its name; the others are figures.
Data line_data(const TextLine& line, std::size_t left, std::size_t header) {
  Data before{Data::type::list}, words{Data::type::list}, figures{Data::type::list};
  for (std::size_t k = 0; k < line.size(); ++k)
    if (k != header) (k < header ? before : k < left ? words : figures).push_back(plain(line[k]));
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
  for (std::size_t i = 0; i < std::min(kMostLines, table.lines.size()); ++i)
    lines.push_back(line_data(table.lines[i], table.left, header));
  Data facts{Data::type::list};
  for (const auto& [name, value] : table.facts) {
    Data fact;
    fact.set("name", plain(name));
    fact.set("value", plain(value));
    facts.push_back(fact);
  }
  std::string intro = table.intro;
  if (table.lines.size() > kMostLines) {
    intro += fmt::format("{}The first {} of {} lines; results.csv has all.", intro.empty() ? "" : " ", kMostLines,
                         count_text(static_cast<double>(table.lines.size())));
  }
  Data data;
  data.set("id", id);
  data.set("title", plain(table.title));
  data.set("intro", text_or_nothing(plain(intro)));
  data.set("facts", facts);
  data.set("head", line_data(table.head, table.left, header));
  data.set("lines", lines);
  data.set("open", open);
  data.set("long", table.lines.size() > kLongTable);
  return data;
}

// One of the page's numbered parts; what is not set stays out of it.
class Section {
 public:
  Section(const char* id, const char* title, const std::string& intro = "") : id_(id), title_(title) {
    data_.set("id", id);
    data_.set("title", title);
    data_.set("intro", text_or_nothing(intro));
    data_.set("static", false);
  }
  // `table` holds what they show, and is to be added too.
  void add(const std::vector<ChartGroup>& groups, const Table& table, Json& charts) {
    for (const ChartGroup& group : groups) {
      const std::string id = group.charts.front().id;
      Data figures{Data::type::list};
      for (const Chart& chart : group.charts) {
        const std::string name = plain(group.title + ", " + chart.title);
        Data figure;
        figure.set("id", chart.id);
        figure.set("title", chart.title);
        figure.set("name", name);
        figure.set("caption", id + "-caption");
        figures.push_back(figure);
        Json spec = chart.spec;
        // What a screen reader calls the chart, and what stands above it where it is saved.
        spec["description"] = name;
        charts.push_back({{"id", chart.id}, {"spec", spec}});
      }
      Data data, figures_of;
      figures_of.set("id", id_of(table));
      figures_of.set("title", plain(table.title));
      data.set("id", id);
      data.set("title", group.title);
      data.set("caption", group.caption);
      data.set("table", table.lines.empty() ? Data(false) : figures_of);
      data.set("by_series", group.by_series);
      data.set("charts", figures);
      data.set("left_out", text_or_nothing(group.left_out == 0 ? ""
                                                               : fmt::format("{} more are left out; results.json has "
                                                                             "their figures.",
                                                                             group.left_out)));
      groups_.push_back(data);
    }
  }
  // Empty tables are left out.
  void add(const Table& table, bool open = false) {
    if (!table.lines.empty()) tables_.push_back(table_data(table, id_of(table), open));
  }
  void reason(const Reason& reason) {
    Data data;
    data.set("rule", reason.rule);
    data.set("title", reason.title);
    data.set("evidence", plain(reason.evidence));
    data.set("action", reason.action);
    reasons_.push_back(data);
  }
  void say(const std::string& sentence) { sentences_.push_back(plain(sentence)); }
  void quote(const std::string& title, const std::string& intro, const std::string& text, bool open = false) {
    Data data;
    data.set("title", plain(title));
    data.set("intro", text_or_nothing(plain(intro)));
    data.set("text", plain_lines(text));
    data.set("open", open);
    texts_.push_back(data);
  }
  void show(const std::string& always, const std::string& fallback, const char* description) {
    Data data;
    data.set("always", text_or_nothing(always));
    data.set("fallback", text_or_nothing(fallback));
    data.set("alt", description);
    data_.set("static", data);
  }
  const std::string& id() const { return id_; }
  const std::string& title() const { return title_; }
  Data data() const {
    Data data = data_;
    data.set("groups", groups_);
    data.set("reasons", reasons_);
    data.set("sentences", sentences_);
    data.set("tables", tables_);
    data.set("texts", texts_);
    return data;
  }

 private:
  // "table-speed-up-and-efficiency"
  std::string id_of(const Table& table) const {
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

  std::string id_, title_;
  Data data_;
  Data groups_{Data::type::list}, reasons_{Data::type::list}, sentences_{Data::type::list},
      tables_{Data::type::list}, texts_{Data::type::list};
};

Section scaling_section(const Comparison& comparison, const std::string& drawing, Json& charts) {
  Section section("scaling", "Scaling",
                  "Efficiency shows what is lost, speed-up what is gained. A strategy is compared with one device that "
                  "exchanges nothing, never with its own slow self.");
  const std::vector<ChartGroup> groups = scaling_charts(comparison);
  const bool draws = !assets::chart_script().empty();
  const std::string picture = image_of(drawing);
  section.show(draws ? "" : picture, draws ? picture : "", "Efficiency and speed-up against devices, a line a strategy");
  const Table speeds = speed_table(comparison);
  if (draws) section.add(groups, speeds, charts);
  if (groups.empty() && drawing.empty()) section.say(kNoCurve);
  section.add(speeds, groups.empty());
  return section;
}

Section accuracy_section(const Comparison& comparison, Json& charts) {
  Section section("accuracy", "Accuracy");
  const Table target = target_table(comparison), epochs = epoch_table(comparison);
  if (!assets::chart_script().empty()) {
    for (const ChartGroup& group : accuracy_charts(comparison))
      section.add({group}, group.title == target.title ? target : epochs, charts);
  }
  section.add(target);
  section.add(epochs);
  return section;
}

Section time_section(const Comparison& comparison, Json& charts) {
  Section section("time", "Where the time goes");
  const Table times = time_table(comparison), bytes = bytes_table(comparison), metrics = metric_table(comparison);
  if (!assets::chart_script().empty()) {
    section.add(time_charts(comparison), times, charts);
    section.add(bytes_charts(comparison), bytes, charts);
    section.add(histogram_charts(comparison), metrics, charts);
  }
  section.add(times);
  section.add(rank_table(comparison));
  section.add(ladder_table(comparison), true);
  section.add(bytes);
  section.add(metrics);
  return section;
}

Section why_section(const Comparison& comparison) {
  Section section("why", "Why");
  const std::vector<Reason> reasons = explain(comparison);
  for (const Reason& reason : reasons) section.reason(reason);
  if (reasons.empty())
    section.say("No rule fires: nothing that was measured stands out as a cost that could be avoided.");
  section.add(drift_table(comparison));
  section.add(break_even_table(comparison), true);
  return section;
}

Section prediction_section(const Comparison& comparison, Json& charts) {
  Section section("prediction", "Prediction",
                  "What more devices would bring, from the costs measured here and the assumption that more of them are "
                  "linked alike. `mgcompare predict` answers for other counts and other links.");
  const std::vector<Prediction> predictions = predict(comparison, usual_devices(comparison));
  const Table table = prediction_table(predictions);
  if (!assets::chart_script().empty()) section.add(prediction_charts(comparison, predictions), table, charts);
  if (predictions.empty()) section.say(kNoPrediction);
  for (const std::string& problem : prediction_problems(predictions)) section.say(problem);
  section.add(table);
  return section;
}

Section origin_section(const Comparison& comparison) {
  const Run& run = *comparison.run;
  Section section("tables", "Tables and origin");
  section.add(results_table(comparison), true);
  section.add(failure_table(comparison), true);
  for (const auto& [title, log] : failure_logs(comparison)) section.quote(title, "", log);
  section.add(outlier_table(comparison), true);
  std::string notes;
  for (const std::string& note : notes_of(comparison)) notes += plain(note) + "\n";
  if (!notes.empty()) section.quote("Notes", "", notes);
  section.add(placement_table(comparison));
  section.add(links_table(run));
  section.add(environment_table(run));
  section.add(order_table(run));
  if (const Repetition again = repetition_of(run); !again.command.empty())
    section.quote("To run one row again", again.intro, again.command);
  section.quote("Config", fmt::format("Every default filled in; SHA-256 {}.", run.info.config_hash), run.info.config_yaml);
  return section;
}

Data tile(const std::string& label, const std::string& figure, const std::string& detail) {
  Data data;
  data.set("label", label);
  data.set("figure", figure);
  data.set("detail", detail);
  return data;
}

Data tiles_of(const Comparison& comparison) {
  Data tiles{Data::type::list};
  if (comparison.ranking.empty()) return tiles;
  const Comparison by_time = ranked_by(comparison, Objective::time_to_accuracy);
  const Cell& first = by_time.cells[by_time.ranking.front()];
  if (by_time.target_reached) {
    tiles.push_back(tile(fmt::format("Fastest to {}", target_text(comparison.target_accuracy)),
                         seconds_text(first.seconds_to_target.median), title_of(first)));
  }
  const Comparison by_speed = ranked_by(comparison, Objective::throughput);
  const Cell& fastest = by_speed.cells[by_speed.ranking.front()];
  tiles.push_back(tile("Most samples/s", rate_text(fastest.samples_per_second.median), title_of(fastest)));
  if (const Cell* best = best_on_several(by_speed)) {
    tiles.push_back(tile("Best speed-up on several devices", fmt::format("{:.2f}x", best->speed_up.median),
                         fmt::format("{} of ideal, {}", percent_text(best->efficiency.median), title_of(*best))));
  }
  tiles.push_back(tile("Accuracy of the winner",
                       accuracy_text(comparison.cells[comparison.ranking.front()].accuracy.median),
                       title_of(comparison.cells[comparison.ranking.front()])));
  return tiles;
}

Data objectives_of(const Comparison& comparison) {
  constexpr const char* kTitles[] = {"Time to accuracy", "Throughput", "Cost in device-seconds"};
  Data all{Data::type::list};
  for (const Objective objective : kObjectives) {
    Data findings{Data::type::list};
    std::vector<Finding> found = ranking_findings(ranked_by(comparison, objective));
    if (objective == Objective::time_to_accuracy && !(comparison.target_accuracy > 0))
      found.insert(found.begin(), {"The config sets no target accuracy: rows are ranked by samples/s"});
    for (const Finding& finding : found) {
      Data one;
      one.set("level", fmt::format("{}", finding.level));
      one.set("text", finding.text);
      findings.push_back(one);
    }
    Data data;
    data.set("id", std::string(to_string(objective)));
    data.set("title", kTitles[static_cast<int>(objective)]);
    data.set("chosen", objective == comparison.objective);
    data.set("findings", findings);
    all.push_back(data);
  }
  return all;
}

Data series_data(const Comparison& comparison) {
  static const std::map<std::string, const char*> kGlyphs = {
      {"circle", "\u25cf"}, {"square", "\u25a0"},        {"triangle-up", "\u25b2"},   {"diamond", "\u25c6"},
      {"cross", "\u271a"},  {"triangle-down", "\u25bc"}, {"triangle-right", "\u25b6"}};
  Data all{Data::type::list};
  for (const Series& series : all_series(comparison)) {
    Data one;
    one.set("name", series.name);
    one.set("color", series.color);
    one.set("glyph", kGlyphs.at(series.shape));
    all.push_back(one);
  }
  return all;
}

void replace(std::string& text, std::string_view marker, const std::string& by) {
  text.replace(text.find(marker), marker.size(), by);
}

}  // namespace

std::string html_report(const Comparison& comparison, const std::string& drawing) {
  const Run& run = *comparison.run;
  Json charts = Json::array();
  const std::vector<Section> sections = {scaling_section(comparison, drawing, charts),
                                         accuracy_section(comparison, charts), time_section(comparison, charts),
                                         why_section(comparison), prediction_section(comparison, charts),
                                         origin_section(comparison)};
  Data links{Data::type::list}, parts{Data::type::list};
  for (const Section& section : sections) {
    Data link;
    link.set("id", section.id());
    link.set("title", section.title());
    links.push_back(link);
    parts.push_back(section.data());
  }
  Answer first = answer(comparison);
  if (first.verdict.empty()) first.verdict = ranking_findings(comparison).front().text;
  Data remarks{Data::type::list};
  Data taints{Data::type::list};
  for (const std::string& taint : run.info.taints) taints.push_back(plain(taint));
  for (const Finding& finding : reservations(comparison)) remarks.push_back(finding.text);
  if (comparison.finished > comparison.done) {
    const std::size_t stopped = comparison.finished - comparison.done;
    remarks.push_back(fmt::format("{} of {} trials {} not completed: the cause stands under Tables and origin", stopped,
                                  comparison.trials, stopped == 1 ? "was" : "were"));
  }

  Data page;
  page.set("name", plain(run.info.name));
  page.set("version", plain(run.info.program_version));
  page.set("model", run.rows.empty() ? "no model" : plain(run.rows.front().config->model.name));
  page.set("data", run.info.data_name.empty() ? "unknown data" : plain(run.info.data_name));
  page.set("machine", plain(results_table(comparison).facts.front().second));
  page.set("started", plain(run.info.started));
  page.set("done", fmt::format("{}", comparison.done));
  page.set("trials", fmt::format("{}", comparison.trials));
  page.set("partial", text_or_nothing(partial_text(comparison)));
  page.set("taints", taints);
  page.set("verdict", first.verdict);
  page.set("grounds", text_or_nothing(first.grounds));
  page.set("tiles", tiles_of(comparison));
  page.set("objectives", objectives_of(comparison));
  page.set("reservations", remarks);
  const Data series = series_data(comparison);
  page.set("has_series", !charts.empty() && series.list_value().size() > 1);
  page.set("series", series);
  page.set("sections", links);
  page.set("parts", parts);
  const std::string code(assets::chart_script()), script(assets::page_script());
  page.set("script_hashes", code.empty() ? policy_hash(script) : policy_hash(code) + " " + policy_hash(script));

  mustache::mustache form{std::string(assets::page_template())};
  if (!form.is_valid()) throw Error("the page's template: " + form.error_message());
  std::string text = form.render(page);
  // Data cannot look like these: its angle brackets are escaped by now.
  replace(text, "<!--page-style-->", fmt::format("<style>{}</style>", assets::page_style()));
  replace(text, "<!--page-charts-->",
          charts.empty() ? ""
                         : fmt::format("<script type=\"application/json\" id=\"charts\">{}</script>",
                                       island({{"config", chart_config()}, {"charts", charts}})));
  replace(text, "<!--chart-script-->", code.empty() ? "" : "<script>" + code + "</script>");
  replace(text, "<!--page-script-->", "<script>" + script + "</script>");
  return text;
}

}  // namespace mgcompare
