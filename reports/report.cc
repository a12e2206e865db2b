#include "reports/report.h"

#include <filesystem>

#include "reports/charts/drawing.h"
#include "reports/csv.h"
#include "reports/report_file.h"
#include "reports/html.h"
#include "reports/json.h"
#include "reports/markdown.h"

namespace mgcompare {

std::vector<std::string> write_reports(const Overview& overview, const std::string& directory) {
  std::vector<std::string> paths;
  const auto path_of = [&](const char* name) {
    return paths.emplace_back((std::filesystem::path(directory) / name).string());
  };
  const std::string drawing = draw_scaling(overview);
  write_report_file(path_of("report.html"), html_report(overview, drawing));
  if (!drawing.empty()) {
    write_report_file(path_of("scaling.svg"), drawing);
  } else {
    // An existing picture shows other results.
    std::error_code ignored;
    std::filesystem::remove(std::filesystem::path(directory) / "scaling.svg", ignored);
  }
  write_report_file(path_of("report.md"), markdown_report(overview, drawing.empty() ? "" : "scaling.svg"));
  write_report_file(path_of("results.csv"), csv_report(overview));
  write_report_file(path_of("results.json"), [&](const Append& append) { json_report(overview, append); });
  return paths;
}

std::vector<std::string> write_reports(const Run& run, const std::string& directory, Objective objective) {
  return write_reports(overview_of(run, objective), directory);
}

}  // namespace mgcompare
