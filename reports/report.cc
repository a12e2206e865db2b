#include "reports/report.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "reports/charts/drawing.h"
#include "reports/csv.h"
#include "reports/html.h"
#include "reports/json.h"
#include "reports/markdown.h"

namespace mgcompare {
namespace {

bool write_all(int file, const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t bytes = write(file, text.data() + written, text.size() - written);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return false;
    written += static_cast<std::size_t>(bytes);
  }
  return fsync(file) == 0;
}

}  // namespace

void write_file(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".tmp";
  const auto fail = [&] {
    const int reason = errno;
    unlink(fresh.c_str());
    throw NotWritable(
        fmt::format("{}: cannot be written: {}; the results are kept, and `mgcompare report` writes it again", path,
                    std::strerror(reason)));
  };
  const int file = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file < 0) fail();
  const bool is_written = write_all(file, text);
  const int reason = errno;
  if (close(file) != 0 || !is_written) {
    errno = is_written ? errno : reason;
    fail();
  }
  if (rename(fresh.c_str(), path.c_str()) != 0) fail();
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int directory = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  fsync(directory);
  close(directory);
}

std::vector<std::string> write_reports(const Run& run, const std::string& directory, Objective objective) {
  std::vector<std::string> paths;
  const auto add = [&](const char* name, const std::string& text) {
    paths.push_back((std::filesystem::path(directory) / name).string());
    write_file(paths.back(), text);
  };
  const std::string drawing = draw_scaling(compare_rows(run));
  add("report.html", html_report(run, objective, drawing));
  if (!drawing.empty()) add("scaling.svg", drawing);
  add("report.md", markdown_report(run, drawing.empty() ? "" : "scaling.svg"));
  add("results.csv", csv_report(run));
  add("results.json", json_report(run));
  return paths;
}

}  // namespace mgcompare
