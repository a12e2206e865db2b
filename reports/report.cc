#include "reports/report.h"

#include <filesystem>
#include <future>

#include "reports/charts/drawing.h"
#include "reports/csv.h"
#include "reports/report_file.h"
#include "reports/html.h"
#include "reports/json.h"
#include "reports/markdown.h"

namespace mgcompare {

std::vector<std::string> write_reports(const Overview& overview, const std::string& directory) {
  const auto path_of = [&](const char* name) { return (std::filesystem::path(directory) / name).string(); };
  // Those for programs have every row, so they take longest: they are written beside the others.
  const std::string csv = path_of("results.csv"), json = path_of("results.json");
  const auto write_for_programs = [&] {
    write_report_file(csv, csv_report(overview));
    write_report_file(json, [&](const Append& append) { json_report(overview, append); });
  };
  // Deferred where no thread can be had.
  std::future<void> for_programs = std::async(std::launch::async | std::launch::deferred, write_for_programs);
  std::vector<std::string> paths;
  const std::string drawing = draw_scaling(overview);
  write_report_file(paths.emplace_back(path_of("report.html")), html_report(overview, drawing));
  if (!drawing.empty()) {
    write_report_file(paths.emplace_back(path_of("scaling.svg")), drawing);
  } else {
    // An existing picture shows other results.
    std::error_code ignored;
    std::filesystem::remove(path_of("scaling.svg"), ignored);
  }
  write_report_file(paths.emplace_back(path_of("report.md")), markdown_report(overview, drawing.empty() ? "" : "scaling.svg"));
  for_programs.get();
  paths.insert(paths.end(), {csv, json});
  return paths;
}

std::vector<std::string> write_reports(const Run& run, const std::string& directory, Objective objective) {
  return write_reports(overview_of(run, objective), directory);
}

}  // namespace mgcompare
