#include "reports/charts/drawing.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "reports/charts/series.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

constexpr std::size_t kMaxRows = 4;
constexpr char kInk[] = "#767676";  // readable on white and on black

bool has_gnuplot() {
  const char* path = std::getenv("PATH");
  std::string folders = path == nullptr ? "" : path;
  for (std::size_t begin = 0; begin <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    if (end > begin && access((folders.substr(begin, end - begin) + "/gnuplot").c_str(), X_OK) == 0) return true;
    begin = end + 1;
  }
  return false;
}

// A gnuplot string in single quotes, in which only the quote is special.
std::string quoted(const std::string& text) {
  std::string safe = "'";
  for (const char c : plain(text)) safe.append(c == '\'' ? 2 : 1, c);
  return safe + "'";
}

int point_type(const std::string& shape) {
  static const std::map<std::string, int> kTypes = {{"circle", 7},        {"square", 5}, {"triangle-up", 9},
                                                    {"triangle-down", 11}, {"diamond", 13}, {"cross", 2},
                                                    {"triangle-right", 15}};
  return kTypes.at(shape);
}

// One plot: a line and intervals for each series.
std::string axes(const Panel& panel, const std::vector<Series>& series, Spread Cell::* figure, const std::string& title,
                 bool is_ratio) {
  const std::set<std::size_t> counts = panel.device_counts();
  const double last = static_cast<double>(*counts.rbegin());
  std::string ticks;
  for (const std::size_t count : counts) ticks += fmt::format("{}{}", ticks.empty() ? "" : ",", count);
  double least = 1, most = is_ratio ? last : 1.1;
  std::string blocks, plots, behind;
  for (const Series& one : series) {
    std::string lines;
    for (const Cell* cell : panel.cells) {
      const Spread& spread = cell->*figure;
      if (cell->series != one.name || spread.count == 0) continue;
      lines += fmt::format("{} {} {} {}\n", cell->trial().devices, spread.median, spread.low, spread.high);
      least = std::min(least, spread.low);
      most = std::max(most, spread.high);
    }
    if (lines.empty()) continue;
    const std::string block = fmt::format("$series{}", std::count(blocks.begin(), blocks.end(), '$'));
    blocks += fmt::format("{} << EOD\n{}EOD\n", block, lines);
    if (!one.leads) {
      behind += fmt::format(", {} using 1:2 with lines lc rgb '#d0d0d0' lw 1 notitle", block);
      continue;
    }
    const std::string look = fmt::format("lc rgb '{}' lw 1.8", one.color);
    plots += fmt::format(", {0} using 1:2 with lines {1} dt {2} notitle, {0} using 1:2:3:4 with yerrorbars {1} pt {3} "
                         "ps 0.8 title {4}",
                         block, look, one.dashed ? 2 : 1, point_type(one.shape), quoted(one.name));
  }
  std::string script = blocks;
  script += fmt::format("set title {}\nset xlabel 'devices'\nset logscale x 2\nset xrange [{}:{}]\nset xtics ({})\n",
                        quoted(title), static_cast<double>(*counts.begin()) * 0.9, last * 1.12, ticks);
  if (is_ratio) {
    script += fmt::format("set ylabel 'speed-up'\nset logscale y 2\nset yrange [{}:{}]\nset format y '%g'\n",
                          std::max(least, 1e-3) * 0.9, most * 1.12);
    return script + fmt::format("plot [x=1:{}] x with lines lc rgb '{}' dt 3 notitle{}\n", last, kInk, behind + plots);
  }
  script += fmt::format("set ylabel 'efficiency'\nunset logscale y\nset yrange [0:{}]\nset format y '%.1f'\n", most * 1.02);
  return script + fmt::format("plot 1 with lines lc rgb '{}' dt 3 notitle{}\n", kInk, behind + plots);
}

std::string script_of(const Overview& overview, const std::string& output) {
  std::string body;
  std::size_t rows = 0;
  for (const Comparison& part : overview.parts) {
    const std::vector<Series> series = all_series(part);
    const std::string name = overview.title_of(part).empty() ? "" : overview.title_of(part) + ", ";
    for (const Panel& panel : panels(part)) {
      const bool has_curve = panel.device_counts().size() > 1 &&
                             std::any_of(panel.cells.begin(), panel.cells.end(),
                                         [](const Cell* cell) { return cell->efficiency.count > 0; });
      if (!has_curve || rows == kMaxRows) continue;
      ++rows;
      body += axes(panel, series, &Cell::efficiency, "Efficiency, " + name + panel.title, false);
      body += axes(panel, series, &Cell::speed_up, "Speed-up, " + name + panel.title, true);
    }
  }
  if (rows == 0) return "";
  return fmt::format(
      "set terminal svg size 960,{} noenhanced font 'Helvetica,13' background rgb '#ffffff'\nset output {}\n"
      "set border 3 lc rgb '{}'\nset tics nomirror textcolor rgb '{}'\nset title textcolor rgb '{}'\n"
      "set key outside bottom center horizontal textcolor rgb '{}' samplen 1.5\nset grid ytics lc rgb '#e4e4e4' lt 1\n"
      "set xlabel textcolor rgb '{}'\nset ylabel textcolor rgb '{}'\nset multiplot layout {},2\n{}unset multiplot\n",
      400 * rows, quoted(output), kInk, kInk, kInk, kInk, kInk, kInk, rows, body);
}

}  // namespace

std::string draw_scaling(const Overview& overview) {
  if (!has_gnuplot()) return "";
  std::error_code missing;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(missing);
  if (missing) return "";
  std::string file = (folder / "mgcompare-XXXXXX").string();
  const int made = mkstemp(file.data());
  if (made < 0) return "";
  close(made);
  std::string svg;
  if (const std::string script = script_of(overview, file); !script.empty()) {
    if (FILE* gnuplot = popen("gnuplot >/dev/null 2>&1", "w")) {
      std::fwrite(script.data(), 1, script.size(), gnuplot);
      if (pclose(gnuplot) == 0) {
        std::ifstream picture(file, std::ios::binary);
        svg.assign(std::istreambuf_iterator<char>(picture), {});
      }
    }
  }
  std::remove(file.c_str());
  return svg;
}

}  // namespace mgcompare
