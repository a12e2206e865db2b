#include "cli/report_commands.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string_view>
#include <system_error>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/atomic_files.h"
#include "base/number_text.h"
#include "base/print.h"
#include "base/text.h"
#include "cli/comma_list.h"
#include "cli/directory.h"
#include "cli/run_command.h"
#include "process/message.h"
#include "reports/findings.h"
#include "reports/host_prediction.h"
#include "reports/link_need.h"
#include "reports/mllog.h"
#include "reports/overview.h"
#include "reports/prediction.h"
#include "reports/regression.h"
#include "reports/regression_text.h"
#include "reports/report.h"
#include "reports/summary.h"
#include "results/continuation.h"
#include "results/results_store.h"

namespace mgcompare {
namespace {

Objective chosen_objective(const Command& command) {
  try {
    return command.objective.empty() ? Objective::time_to_accuracy : objective_of(command.objective);
  } catch (const Error& error) {
    throw UsageError(fmt::format("--objective: {}", error.what()));
  }
}

// "8,16,64"
std::vector<std::size_t> counts_of(const std::string& list) {
  std::vector<std::size_t> counts;
  for (const std::string& part : comma_list(list)) {
    const auto count = parse_number<std::size_t>(part);
    if (!count || *count < 1 || *count > 1'000'000) {
      throw UsageError(fmt::format("--devices {}: give numbers of devices from 1 to 1000000, separated by commas, such "
                                   "as 8,16,64", list));
    }
    counts.push_back(*count);
  }
  return counts;
}

// "5%" or "0.05", as a share.
double tolerance_of(const std::string& text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const double share = unit == "%" ? value / 100 : value;
  if (problem != std::errc() || (!unit.empty() && unit != "%") || !(share >= 0) || share >= 1) {
    throw UsageError(fmt::format("--fail-on-regression {}: give a share from 0 % to below 100 %, such as 5%", text));
  }
  return share;
}

// A link model for each kind of device with timed all-reduces.
std::map<DeviceKind, LinkModel> links_of(const std::vector<LinkMeasurements>& examined, const std::string& where) {
  std::map<DeviceKind, LinkModel> all;
  for (const LinkMeasurements& links : examined) {
    const std::vector<ExchangeTime> times = exchange_times(links);
    if (times.empty()) continue;
    LinkModel link = fit_link(times);
    link.source = fmt::format("fitted on {} all-reduces of {} devices in {}, error up to {:.0f} %", times.size(), links.kind,
                              where, 100 * link.error);
    all[device_kind(links.kind)] = link;
  }
  if (all.empty())
    throw UsageError(fmt::format("--link: {} contains no all-reduce times: they are measured if at least two devices of a kind "
                                 "are used; give latency and bandwidth instead", where));
  return all;
}

// The output of a `doctor` command: `how` is that command.
nlohmann::json output_of_doctor(const std::string& file, const std::string& how) {
  std::ifstream stream(file);
  if (!stream) throw UsageError(fmt::format("--link {}: cannot be read; write it with `mgcompare {} > {}`", file, how, file));
  return nlohmann::json::parse(stream, nullptr, false);
}

[[noreturn]] void refuse_output(const std::string& file, const std::string& how) {
  throw UsageError(fmt::format("--link {}: is not output of `mgcompare {}` of this version", file, how));
}

std::vector<LinkMeasurements> examined_in(const std::string& file) {
  constexpr char kHow[] = "doctor --json";
  const nlohmann::json platforms = output_of_doctor(file, kHow);
  try {
    std::vector<LinkMeasurements> all;
    for (const nlohmann::json& platform : platforms)
      if (platform.contains("links")) all.push_back(platform["links"].get<LinkMeasurements>());
    if (!platforms.is_discarded()) return all;
  } catch (const std::exception&) {
    // As below.
  }
  refuse_output(file, kHow);
}

// Of a sentence that a report has, too, which does not know where it will be.
std::string with_directory(std::string sentence, const std::string& directory) {
  constexpr std::string_view kCommand = "predict DIR";
  if (const std::size_t at = sentence.find(kCommand); at != std::string::npos) sentence.replace(at, kCommand.size(), "predict " + in_shell(directory));
  return sentence;
}

bool names_a_file(const std::string& link) { return link.ends_with(".json"); }

}  // namespace

// `report` says it in the report.
void warn_of_taints(const Run& run) {
  for (const std::string& taint : run.info.taints) print_stderr("warning: {} is TAINTED: {}\n", plain(run.directory), plain(taint));
}

namespace {

// A report marks them, but a prediction only lacks them.
void warn_of_damage(const Run& run) {
  const auto damaged = std::count_if(run.rows.begin(), run.rows.end(), is_damaged);
  if (damaged > 0)
    print_stderr("warning: {}: {} left out; `mgcompare report` marks damaged rows\n", plain(run.directory),
                 damaged == 1 ? "1 trial whose row is damaged is" : fmt::format("{} trials whose rows are damaged are", damaged));
}

// The slowest of the links between hosts, because every exchange waits for it.
LinkModel between_hosts(const std::string& file) {
  constexpr char kHow[] = "doctor --hosts a,b --json";
  const nlohmann::json survey = output_of_doctor(file, kHow);
  LinkModel link{"the measured link", "", 0, 0};
  try {
    // Its ends are names of hosts there.
    for (const nlohmann::json& pair : survey.at("between")) {
      const auto rate = pair.at("bytes_per_second").get<double>();
      link.latency = std::max(link.latency, pair.at("seconds_small").get<double>());
      link.bandwidth = link.bandwidth > 0 ? std::min(link.bandwidth, rate) : rate;
    }
  } catch (const std::exception&) {
    link.bandwidth = 0;
  }
  if (!(link.bandwidth > 0)) refuse_output(file, kHow);
  return link;
}

int predict_between_hosts(const Command& command) {
  if (!command.devices.empty())
    throw UsageError("--hosts predicts the numbers of devices that the run has, on so many hosts; leave --devices out");
  if (command.link.empty() || command.link == "measured")
    throw UsageError("--hosts needs the link between the hosts: --link latency=50us,bandwidth=1Gbit/s, or a file written by `doctor --hosts a,b --json`");
  LinkModel link;
  try {
    link = names_a_file(command.link) ? between_hosts(command.link) : link_of(command.link);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  const Run run = read_run(command.target);
  warn_of_taints(run);
  warn_of_damage(run);
  std::optional<Run> other;
  if (!command.measured.empty()) {
    other = read_run(command.measured);
    warn_of_taints(*other);
    warn_of_damage(*other);
  }
  const Overview overview = overview_of(run), known = other ? overview_of(*other) : Overview();
  std::map<const Comparison*, std::vector<HostPrediction>> predictions;
  std::vector<HostPrediction> all;
  const Comparison none;  // of a network that the measured run does not have
  for (const Comparison& part : overview.parts) {
    const auto same = std::find_if(known.parts.begin(), known.parts.end(), [&](const Comparison& each) { return each.network == part.network; });
    predictions[&part] = predict_hosts(part, *command.host_count, link, !other ? nullptr : same == known.parts.end() ? &none : &*same);
    all.insert(all.end(), predictions[&part].begin(), predictions[&part].end());
  }
  if (all.empty())
    throw Error(fmt::format("{}: has no row of one host whose number of devices {} hosts divide; run it on one host with, for example, "
                            "scaling.devices=[1, {}]", command.target, *command.host_count, *command.host_count));
  for (const Table& table : tables_of(overview, [&](const Comparison& part) { return host_prediction_table(predictions.at(&part), *command.host_count, link); }))
    if (!table.lines.empty()) fmt::print("{}", table_text(table, print_style(command)));
  for (const std::string& problem : host_prediction_problems(all)) fmt::print("{}\n", problem);
  if (const std::optional<std::string> errors = host_prediction_errors(all)) fmt::print("{}\n", *errors);
  return kDone;
}

Overview priced(Overview overview, const std::optional<double>& price) {
  if (!price) return overview;
  for (Comparison& part : overview.parts) part.price_per_device_hour = *price;
  return overview;
}

std::string created(const std::string& directory) {
  std::filesystem::create_directories(directory);
  return directory;
}

void refuse_run(const std::string& directory) {
  if (!directory.empty() && has_run(directory))
    throw UsageError(fmt::format("{}: is the directory of a run, which keeps its own report; give another directory with -o", directory));
}

// The reports are in a directory of their own: no run is theirs.
int write_merged_report(const Command& command, Objective objective) {
  std::vector<Run> runs;
  for (const std::string& directory : command.targets) runs.push_back(read_run(directory));
  refuse_run(command.directory);
  const std::string folder = command.directory.empty() ? new_run_directory("merged") : command.directory;
  const Overview overview = priced(merged(runs, objective), command.price);
  const std::vector<std::string> files = write_reports(overview, created(folder));
  fmt::print("{}\n", closing_summary(overview, print_style(command)));
  for (const std::string& file : files) fmt::print("{}\n", file);
  int code = kDone;
  for (const Run& run : runs) code = std::max(code, exit_code_of(run));
  return code;
}

}  // namespace

int write_report_again(const Command& command) {
  const Objective objective = chosen_objective(command);
  if (command.targets.size() > 1) return write_merged_report(command, objective);
  const Run run = read_run(command.target);
  std::error_code ignored;
  if (!std::filesystem::equivalent(command.directory, command.target, ignored)) refuse_run(command.directory);
  const std::string folder = command.directory.empty() ? command.target : created(command.directory);
  const Overview overview = priced(overview_of(run, objective), command.price);
  print_summary(overview, write_reports(overview, folder), command);
  return exit_code_of(run);
}

int predict_more(const Command& command) {
  if (command.host_count) return predict_between_hosts(command);
  if (!command.measured.empty()) throw UsageError("--measured goes with --hosts");
  std::map<DeviceKind, LinkModel> links;
  if (names_a_file(command.link)) {
    links = links_of(examined_in(command.link), command.link);
  } else if (!command.link.empty() && command.link != "measured") {
    try {
      const LinkModel link = link_of(command.link);
      links = {{DeviceKind::cpu, link}, {DeviceKind::cuda, link}};
    } catch (const Error& error) {
      throw UsageError(error.what());
    }
  }
  const std::vector<std::size_t> asked = counts_of(command.devices.empty() ? "1" : command.devices);
  const Run run = read_run(command.target);
  warn_of_taints(run);
  warn_of_damage(run);
  if (command.link == "measured") links = links_of(run.info.links, command.target);
  const Overview overview = overview_of(run);
  std::map<const Comparison*, std::vector<Prediction>> predictions;
  bool any = false;
  for (const Comparison& part : overview.parts)
    any |= !(predictions[&part] = predict(part, command.devices.empty() ? usual_devices(part) : asked, links)).empty();
  if (!any) throw Error(fmt::format("{}: {}", command.target, no_prediction(overview.parts.front())));
  for (const Table& table : tables_of(overview, [&](const Comparison& part) { return prediction_table(predictions.at(&part)); }))
    if (!table.lines.empty()) fmt::print("{}", table_text(table, print_style(command)));
  for (const Table& table : tables_of(overview, [&](const Comparison& part) { return link_need_table(link_needs(part, predictions.at(&part))); }))
    if (!table.lines.empty()) fmt::print("{}", table_text(table, print_style(command)));
  std::set<std::string> told;
  for (const auto& [kind, link] : links)
    if (told.insert(link.source).second) fmt::print("Link {}: {}\n", link.name, link.source);
  for (const Comparison& part : overview.parts) {
    const std::string about = overview.title_of(part).empty() ? "" : overview.title_of(part) + ": ";
    for (const std::string& sentence : predicted_break_even(predictions.at(&part))) fmt::print("{}{}\n", about, sentence);
    for (const std::string& problem : prediction_problems(predictions.at(&part))) fmt::print("{}{}\n", about, with_directory(problem, command.target));
    if (predictions.at(&part).empty()) fmt::print("{}{}\n", about, no_prediction(part));
  }
  return kDone;
}

int compare_two(const Command& command) {
  const double tolerance = command.regression.empty() ? 0 : tolerance_of(command.regression);
  const Run before = read_run(command.target), after = read_run(command.second);
  const Comparison one = compare_rows(before), other = compare_rows(after);
  const Regression regression = compare_runs(one, other);
  if (regression.rows.empty()) {
    throw Error(fmt::format("{} and {} have no finished row in common; give two runs that share strategies, devices and batches", command.target,
                            command.second));
  }
  if (command.json) fmt::print("{}", regression_json(regression, command.target, command.second));
  else fmt::print("{}", regression_text(regression, print_style(command)));
  for (const std::string& warning : regression.warnings) print_stderr("warning: {}\n", warning);
  const std::string file = (std::filesystem::path(command.second) / "comparison.md").string();
  write_atomically(file, regression_report(regression, command.target, command.second));
  if (!command.json) fmt::print("{}\n", file);
  if (command.regression.empty() || !has_regressed(regression, tolerance)) return kDone;
  print_stderr("mgcompare: at least one row is worse by more than {}, or has lost its result\n", command.regression);
  return kProblemFound;
}

int export_run(const Command& command) {
  if (!command.mllog) throw UsageError("export: give a format: --mllog writes log lines in the format of MLPerf");
  const Run run = read_run(command.target);
  warn_of_taints(run);
  const std::filesystem::path folder = std::filesystem::path(command.target) / "mllog";
  std::size_t written = 0, damaged = 0, unfinished = 0;
  write_all_atomically(Directory(command.target).subfolder("mllog"), [&](const AddFile& add) {
    for (const Row& row : run.rows) {
      if (row.trial.rehearsal) continue;
      damaged += is_damaged(row) ? 1 : 0;
      unfinished += row.state != RowState::finished ? 1 : 0;
      if (is_damaged(row) || row.state != RowState::finished) continue;
      add(fmt::format("trial-{}.log", row.trial.number), mllog(run, row));
      ++written;
    }
  });
  if (written == 0)
    throw Error(fmt::format("{}: {}, so there is nothing to export", command.target,
                            damaged > 0 ? "the rows of all finished trials are damaged" : "no trial has finished"));
  fmt::print("{} ({} trials{}{})\n", folder.string(), written, damaged == 0 ? "" : fmt::format(", without {} whose rows are damaged", damaged),
             unfinished == 0 ? "" : fmt::format(", without {} that have not finished", unfinished));
  return kDone;
}

}  // namespace mgcompare
