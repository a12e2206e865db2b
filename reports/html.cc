#include "reports/html.h"

#include <fmt/format.h>

#include <map>

#include <kainjow/mustache.hpp>

#include "reports/assets.h"
#include "reports/charts/chart.h"
#include "reports/drift.h"
#include "reports/embedding.h"
#include "reports/explain.h"
#include "reports/failures.h"
#include "reports/findings.h"
#include "reports/machine_tables.h"
#include "reports/repetition.h"
#include "reports/section.h"
#include "reports/tables.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

namespace mustache = kainjow::mustache;
using Data = mustache::data;

Section scaling_section(const Comparison& comparison, const std::string& drawing, Json& charts) {
  Section section("scaling", "Scaling",
                  "Efficiency shows what is lost, speed-up what is gained. A strategy is compared with one device that "
                  "exchanges nothing, not with its own run on one device.");
  const std::vector<ChartGroup> groups = scaling_charts(comparison);
  const bool has_charts = !assets::chart_script().empty();
  const std::string picture = image_of(drawing);
  section.show(has_charts ? "" : picture, has_charts ? picture : "", "Efficiency and speed-up against devices, one line per strategy");
  const Table speeds = speed_table(comparison);
  if (has_charts) section.add(groups, speeds, charts);
  if (groups.empty() && drawing.empty()) section.sentence(no_curve(comparison));
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
  section.add(clock_table(comparison));
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
    section.sentence("No rule applies: no avoidable cost stands out in the measurements.");
  section.add(drift_table(comparison));
  section.add(break_even_table(comparison), true);
  return section;
}

Section prediction_section(const Comparison& comparison, Json& charts) {
  Section section("prediction", "Prediction",
                  "The speed-up on more devices with the same links, extrapolated from the costs measured "
                  "here. `mgcompare predict` does this for other numbers of devices and other links.");
  const std::vector<Prediction> predictions = predict(comparison, usual_devices(comparison));
  const Table table = prediction_table(predictions);
  if (!assets::chart_script().empty()) section.add(prediction_charts(comparison, predictions), table, charts);
  if (predictions.empty()) section.sentence(no_prediction(comparison));
  for (const std::string& problem : prediction_problems(predictions)) section.sentence(problem);
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
  section.quote("Config", fmt::format("With all defaults; SHA-256 {}.", run.info.config_hash), run.info.config_yaml);
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

std::string with_lines_below(const std::string& rendered) {
  std::string text;
  text.reserve(rendered.size() + rendered.size() / 16);
  for (const char c : rendered) {
    if (c == kBelow)
      text += " <small>";
    else if (c == kEndOfBelow)
      text += "</small>";
    else
      text += c;
  }
  return text;
}

void replace(std::string& text, std::string_view marker, const std::string& by) {
  text.replace(text.find(marker), marker.size(), by);
}

// What is above the sections: the run, the answer, its findings and reservations.
void add_answer(const Comparison& comparison, Data& page) {
  const Run& run = *comparison.run;
  Answer first = answer(comparison);
  if (first.verdict.empty()) first.verdict = ranking_findings(comparison).front().text;
  Data remarks{Data::type::list};
  Data taints{Data::type::list};
  for (const std::string& taint : run.info.taints) taints.push_back(plain(taint));
  for (const Finding& finding : reservations(comparison)) remarks.push_back(finding.text);
  if (comparison.finished > comparison.done) {
    const std::size_t stopped = comparison.finished - comparison.done;
    remarks.push_back(fmt::format("{} of {} trials {} not completed: see the causes in Tables and origin", stopped,
                                  comparison.trials, stopped == 1 ? "was" : "were"));
  }
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
}

void add_legend(const Comparison& comparison, bool has_charts, Data& page) {
  const std::vector<Series> all = all_series(comparison);
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

std::string html_report(const Comparison& comparison, const std::string& drawing) {
  Json charts = Json::array();
  const std::vector<Section> sections = {scaling_section(comparison, drawing, charts),
                                         accuracy_section(comparison, charts), time_section(comparison, charts),
                                         why_section(comparison), prediction_section(comparison, charts),
                                         origin_section(comparison)};
  Data page;
  add_answer(comparison, page);
  add_legend(comparison, !charts.empty(), page);
  add_sections(sections, page);
  const std::string code(assets::chart_script()), script(assets::page_script());
  page.set("script_hashes", code.empty() ? policy_hash(script) : policy_hash(code) + " " + policy_hash(script));

  mustache::mustache form{std::string(assets::page_template())};
  if (!form.is_valid()) throw Error("the template of the page is not valid: " + form.error_message());
  std::string text = with_lines_below(form.render(page));
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
