#include "reports/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include <kainjow/mustache.hpp>

#include "config/problem.h"
#include "reports/answer.h"
#include "reports/answer_block.h"
#include "reports/assets.h"
#include "reports/best_rows.h"
#include "reports/charts/chart.h"
#include "reports/charts/headline.h"
#include "reports/cost.h"
#include "reports/device_kinds.h"
#include "reports/drift.h"
#include "reports/embedding.h"
#include "reports/explain.h"
#include "reports/failures.h"
#include "reports/framework_findings.h"
#include "reports/infrastructure.h"
#include "reports/link_need.h"
#include "reports/machine_tables.h"
#include "reports/overview_findings.h"
#include "reports/repetition.h"
#include "reports/section.h"
#include "reports/tables.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

namespace mustache = kainjow::mustache;
using Data = mustache::data;

void add_tables(const Overview& overview, Section& section, const std::function<Table(const Comparison&)>& table, bool open = false) {
  for (const Table& one : tables_of(overview, table)) section.add(one, open);
}

void add_run_tables(const Overview& overview, Section& section, const std::function<Table(const Run&)>& table) {
  for (const Table& one : run_tables_of(overview, table)) section.add(one);
}

// Adds charts that show the figures of the first of these tables.
void add_charts(const Overview& overview, Section& section, const std::function<std::vector<ChartGroup>(const Comparison&)>& charts,
                const std::function<Table(const Comparison&)>& table, Json& specs) {
  if (assets::chart_script().empty()) return;
  const std::vector<Table> tables = tables_of(overview, table);
  section.add(charts_of(overview, charts), tables.empty() ? Table() : tables.front(), specs);
}

bool has_frameworks(const Overview& overview) {
  return std::any_of(overview.parts.begin(), overview.parts.end(), [](const Comparison& part) { return part.has_frameworks(); });
}

Section scaling_section(const Overview& overview, const std::string& drawing, Json& charts) {
  Section section("scaling", "Scaling",
                  "Efficiency shows what is lost, speed-up what is gained. A strategy is compared with one device that "
                  "exchanges nothing, not with its own run on one device.");
  if (has_frameworks(overview)) section.lead("Rows of another framework are compared with its own fastest row on one device.");
  const bool has_charts = !assets::chart_script().empty();
  const std::string picture = image_of(drawing);
  section.show(has_charts ? "" : picture, has_charts ? picture : "", "Efficiency and speed-up against devices, one line per strategy");
  add_charts(overview, section, scaling_charts, speed_table, charts);
  bool has_curves = false;
  for (const Comparison& part : overview.parts) {
    const bool has_own = !scaling_charts(part).empty();
    has_curves |= has_own;
    if (!has_own && drawing.empty()) section.sentence(overview.prefix_of(part) + no_curve(part));
  }
  section.add(device_table(overview), true);
  add_tables(overview, section, best_rows_table, true);
  add_tables(overview, section, speed_table, !has_curves);
  return section;
}

// Only if there are several.
std::optional<Section> framework_section(const Overview& overview, Json& charts) {
  if (!has_frameworks(overview)) return std::nullopt;
  Section section("frameworks", "By framework",
                  "Whether several devices pay depends on how long a step takes on one, and on what each framework adds to a step on several. "
                  "All frameworks train from the same weights and samples in the same order, under the same clock.");
  add_charts(overview, section, framework_charts, epoch_table, charts);
  for (const Comparison& part : overview.parts) {
    if (const std::string text = framework_summary(part); !text.empty()) section.lead(overview.prefix_of(part) + text + ".");
    for (const std::string& sentence : framework_sentences(part)) section.sentence(overview.prefix_of(part) + sentence + ".");
  }
  add_tables(overview, section, framework_answer_table, true);
  add_tables(overview, section, mode_table, true);
  add_tables(overview, section, framework_table);
  add_tables(overview, section, like_table);
  return section;
}

Section accuracy_section(const Overview& overview, Json& charts) {
  Section section("accuracy", "Accuracy");
  if (!assets::chart_script().empty()) {
    std::vector<Table> tables = tables_of(overview, target_table);
    for (Table& table : tables_of(overview, epoch_table)) tables.push_back(std::move(table));
    for (const ChartGroup& group : charts_of(overview, accuracy_charts)) {
      const auto same = std::find_if(tables.begin(), tables.end(), [&](const Table& table) { return table.title == group.title; });
      section.add({group}, tables.empty() ? Table() : same == tables.end() ? tables.back() : *same, charts);
    }
  }
  add_tables(overview, section, target_table);
  add_tables(overview, section, cost_table, true);
  add_tables(overview, section, epoch_table);
  return section;
}

Section time_section(const Overview& overview, Json& charts) {
  Section section("time", "Where the time goes");
  add_charts(overview, section, time_charts, time_table, charts);
  add_charts(overview, section, bytes_charts, bytes_table, charts);
  add_charts(overview, section, histogram_charts, metric_table, charts);
  add_tables(overview, section, time_table);
  add_tables(overview, section, rank_table);
  add_tables(overview, section, clock_table);
  add_tables(overview, section, ladder_table, true);
  add_tables(overview, section, bytes_table);
  add_tables(overview, section, metric_table);
  return section;
}

Section why_section(const Overview& overview) {
  Section section("why", "Why");
  for (const Comparison& part : overview.parts) {
    const std::vector<Reason> reasons = explain(part);
    for (Reason reason : reasons) {
      reason.evidence = overview.prefix_of(part) + reason.evidence;
      section.reason(reason);
    }
    if (reasons.empty())
      section.sentence(overview.prefix_of(part) + "No rule applies: no avoidable cost stands out in the measurements.");
  }
  add_tables(overview, section, drift_table);
  add_tables(overview, section, break_even_table, true);
  return section;
}

Section prediction_section(const Overview& overview, Json& charts) {
  Section section("prediction", "Prediction",
                  "The speed-up on more devices with the same links, extrapolated from the costs measured "
                  "here. `mgcompare predict` does this for other numbers of devices and other links.");
  std::map<const Comparison*, std::vector<Prediction>> all;
  for (const Comparison& part : overview.parts) all[&part] = predict(part, usual_devices(part));
  const auto table = [&](const Comparison& part) { return prediction_table(all.at(&part)); };
  add_charts(overview, section, [&](const Comparison& part) { return prediction_charts(part, all.at(&part)); }, table, charts);
  for (const Comparison& part : overview.parts) {
    if (all[&part].empty()) section.sentence(overview.prefix_of(part) + no_prediction(part));
    for (const std::string& sentence : predicted_break_even(all[&part])) section.sentence(overview.prefix_of(part) + sentence);
    for (const std::string& problem : prediction_problems(all[&part])) section.sentence(overview.prefix_of(part) + problem);
  }
  add_tables(overview, section, table);
  add_tables(overview, section, [&](const Comparison& part) { return link_need_table(link_needs(part, all.at(&part))); }, true);
  return section;
}

// What belongs to a run rather than to its rows.
void add_origin(const Overview& overview, const Comparison& first, Section& section) {
  const Run& run = *first.run;
  const std::string where = overview.has_runs() ? ", " + first.infrastructure : "";
  if (const Repetition again = repetition_of(run); !again.command.empty())
    section.quote("To run one row again" + where, again.intro, again.command);
  section.quote("Config" + where, fmt::format("With all defaults; SHA-256 {}.", run.info.config_hash), run.info.config_yaml);
}

Section origin_section(const Overview& overview) {
  Section section("tables", "Tables and origin");
  if (!overview.has_results()) section.sentence(kNoResults);
  add_tables(overview, section, results_table, true);
  add_tables(overview, section, settings_table, true);
  add_tables(overview, section, failure_table, true);
  for (const Comparison& part : overview.parts)
    for (const auto& [title, log] : failure_logs(part)) section.quote(overview.prefix_of(part) + title, "", log);
  add_tables(overview, section, outlier_table, true);
  std::string notes;
  for (const std::string& note : notes_of(overview)) notes += plain(note) + "\n";
  if (!notes.empty()) section.quote("Notes", "", notes);
  add_tables(overview, section, placement_table);
  add_run_tables(overview, section, links_table);
  add_run_tables(overview, section, environment_table);
  add_run_tables(overview, section, order_table);
  for (const Comparison* first : overview.runs()) add_origin(overview, *first, section);
  return section;
}

Data series_data(const std::vector<Series>& every) {
  static const std::map<std::string, const char*> kGlyphs = {
      {"circle", "\u25cf"}, {"square", "\u25a0"},        {"triangle-up", "\u25b2"},   {"diamond", "\u25c6"},
      {"cross", "\u271a"},  {"triangle-down", "\u25bc"}, {"triangle-right", "\u25b6"}};
  Data all{Data::type::list};
  for (const Series& series : every) {
    Data one;
    one.set("name", series.name);
    one.set("color", series.color);
    one.set("glyph", kGlyphs.at(series.shape));
    one.set("rest", !series.leads);
    all.push_back(one);
  }
  return all;
}

std::string with_elements(const std::string& rendered) {
  std::string text;
  text.reserve(rendered.size() + rendered.size() / 16);
  for (const char c : rendered) {
    if (c == kBelow)
      text += " <small>";
    else if (c == kEndOfBelow)
      text += "</small>";
    else if (c == kCode)
      text += "<code>";
    else if (c == kEndOfCode)
      text += "</code>";
    else
      text += c;
  }
  return text;
}

void replace(std::string& text, std::string_view marker, const std::string& by) {
  text.replace(text.find(marker), marker.size(), by);
}

// "lenet and mlp": each text once.
std::string all_of(const Overview& overview, const std::function<std::string(const Comparison&)>& text) {
  std::vector<std::string> texts;
  for (const Comparison& part : overview.parts)
    if (const std::string one = plain(text(part)); std::find(texts.begin(), texts.end(), one) == texts.end()) texts.push_back(one);
  return listed(texts, 6);
}

// Beside the answer, so that the first screen has a curve. Adds its chart as number `number`.
Data glance_of(const Overview& overview, const Comparison& part, std::size_t number, Json& charts) {
  const std::optional<Chart> chart = assets::chart_script().empty() ? std::nullopt : glance_chart(part);
  if (!chart) return Data(false);
  const std::string id = number == 0 ? chart->id : fmt::format("{}-{}", chart->id, number + 1), about = overview.title_of(part);
  const std::string name = plain("Speed-up, at a glance" + (about.empty() ? "" : ", " + about));
  Json spec = chart->spec;
  spec["description"] = name;
  std::vector<Series> key;
  std::size_t grey = 0;
  for (const Series& series : all_series(part)) {
    const Json& values = spec["data"]["values"];
    if (std::none_of(values.begin(), values.end(), [&](const Json& value) { return value["series"] == series.name; })) continue;
    if (series.leads) key.push_back(series);
    else ++grey;
  }
  const auto place = std::find_if(charts.begin(), charts.end(), [](const Json& one) { return !one["id"].get_ref<const std::string&>().starts_with("glance"); });
  charts.insert(place, Json({{"id", id}, {"spec", spec}}));
  Data data;
  data.set("id", id);
  data.set("name", name);
  data.set("title", fmt::format("Speed-up of samples/s, {}{}", chart->title, chart->headline.empty() ? "" : ": " + chart->headline));
  data.set("key", series_data(key));
  data.set("others", text_or_nothing(grey == 0 ? "" : fmt::format("{} more in grey", grey)));
  return data;
}

// What is above the sections: the runs, and the answer for each part.
void add_answers(const Overview& overview, Json& charts, Data& page) {
  Data answers{Data::type::list}, briefs{Data::type::list}, kinds{Data::type::list}, taints{Data::type::list}, remarks{Data::type::list};
  std::size_t done = 0, finished = 0, trials = 0;
  for (std::size_t number = 0; number < overview.parts.size(); ++number) {
    const Comparison& part = overview.parts[number];
    Data block = answer_block(overview, part, number);
    block.set("glance", glance_of(overview, part, number, charts));
    answers.push_back(block);
    Data brief;
    brief.set("part", number == 0 ? "" : fmt::format("-{}", number + 1));
    brief.set("about", overview.title_of(part));
    brief.set("text", short_answer(part));
    briefs.push_back(brief);
    done += part.done;
    finished += part.finished;
    trials += part.trials;
  }
  for (const std::string& taint : taints_of(overview)) taints.push_back(taint);
  for (const std::string& sentence : device_sentences(overview)) kinds.push_back(sentence_text(sentence));
  for (const Finding& finding : reservations(overview)) remarks.push_back(sentence_text(finding.text));
  if (finished > done && done > 0) {
    const std::size_t stopped = finished - done;
    remarks.push_back(fmt::format("{} of {} trials {} not completed: see the causes in Tables and origin", stopped, trials,
                                  stopped == 1 ? "was" : "were"));
  }
  const auto info = [](const Comparison& part) -> const RunInfo& { return part.run->info; };
  std::ptrdiff_t unavailable = 0;
  for (const Comparison* run : overview.runs())
    unavailable += std::count_if(run->run->rows.begin(), run->run->rows.end(), [](const Row& row) {
      return row.state == RowState::finished && row.result.status == TrialStatus::unavailable && !is_refused_rehearsal(row);
    });
  page.set("unavailable", unavailable == 0 ? "" : fmt::format(", {} unavailable on this machine", unavailable));
  page.set("name", all_of(overview, [&](const Comparison& part) { return info(part).name; }));
  page.set("version", all_of(overview, [&](const Comparison& part) { return info(part).program_version; }));
  page.set("model", all_of(overview, network_of));
  page.set("data", all_of(overview, [&](const Comparison& part) { return info(part).data_name.empty() ? "unknown data" : info(part).data_name; }));
  page.set("machine", all_of(overview, [](const Comparison& part) { return infrastructure(*part.run); }));
  page.set("started", all_of(overview, [&](const Comparison& part) { return info(part).started; }));
  page.set("done", fmt::format("{}", done));
  page.set("trials", fmt::format("{}", trials));
  page.set("partial", text_or_nothing(partial_text(overview)));
  page.set("taints", taints);
  page.set("answers", answers);
  page.set("several", overview.parts.size() > 1);
  page.set("briefs", briefs);
  page.set("kinds", kinds);
  page.set("reservations_of_all", remarks);
}

void add_legend(const Overview& overview, bool has_charts, Data& page) {
  const std::vector<Series> all = all_series(overview.parts);
  const auto crowd = std::count_if(all.begin(), all.end(), [](const Series& one) { return !one.leads; });
  page.set("crowd", text_or_nothing(crowd == 0 ? "" : fmt::format("Show all {} in colour", all.size())));
  page.set("has_series", has_charts && all.size() > 1);
  page.set("series", series_data(all));
}

void add_sections(const std::vector<Section>& sections, Data& page) {
  Data links{Data::type::list}, parts{Data::type::list};
  for (const Section& section : sections) {
    Data link;
    link.set("id", section.id());
    link.set("title", section.title());
    links.push_back(link);
    parts.push_back(section.data());
  }
  page.set("sections", links);
  page.set("parts", parts);
}

}  // namespace

std::string html_report(const Overview& overview, const std::string& drawing) {
  Json charts = Json::array();
  std::vector<Section> sections;
  if (overview.has_results()) {
    sections.push_back(scaling_section(overview, drawing, charts));
    if (std::optional<Section> section = framework_section(overview, charts)) sections.push_back(std::move(*section));
    sections.push_back(accuracy_section(overview, charts));
    sections.push_back(time_section(overview, charts));
    sections.push_back(why_section(overview));
    sections.push_back(prediction_section(overview, charts));
  }
  sections.push_back(origin_section(overview));
  Data page;
  add_answers(overview, charts, page);
  add_legend(overview, !charts.empty(), page);
  add_sections(sections, page);
  const std::string code(assets::chart_script()), script(assets::page_script());
  page.set("script_hashes", code.empty() ? policy_hash(script) : policy_hash(code) + " " + policy_hash(script));

  mustache::mustache form{std::string(assets::page_template())};
  if (!form.is_valid()) throw Error("the template of the page is not valid: " + form.error_message());
  std::string text = with_elements(form.render(page));
  // Data cannot contain these markers: angle brackets are escaped by now.
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
