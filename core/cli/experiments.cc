#include "cli/experiments.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include <fmt/core.h>

#include "base/print.h"
#include "base/text.h"
#include "cli/directory.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kConfigExtension = ".yaml";
// A longer sentence ends at its first colon or semicolon.
constexpr std::size_t kLongSummary = 100;

fs::path folder_of_experiments() {
  const std::string share = share_folder();
  return share.empty() ? fs::path() : fs::path(share) / "configs";
}

// The first sentence of the comment at the top, which begins after the line for editors.
std::string summary_of(const fs::path& file) {
  std::ifstream stream(file);
  std::string text;
  for (std::string line; std::getline(stream, line) && line.starts_with("#");) {
    line.erase(0, std::min(line.find_first_not_of("# "), line.size()));
    if (line.empty() || line.starts_with("yaml-language-server:")) continue;
    text += (text.empty() ? "" : " ") + line;
  }
  const auto end_at = [&](std::string_view marks, std::size_t kept) {
    for (std::size_t at = 0; at + 1 < text.size(); ++at)
      if (marks.find(text[at]) != std::string_view::npos && text[at + 1] == ' ') return text.resize(at + kept);
  };
  end_at(".?", 1);
  if (text.size() > kLongSummary) end_at(":;", 0);
  return plain(text);
}

}  // namespace

std::vector<Experiment> installed_experiments() {
  std::vector<Experiment> all;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_of_experiments(), ignored))
    if (entry.path().extension() == kConfigExtension) all.push_back({entry.path().stem().string(), summary_of(entry.path())});
  std::sort(all.begin(), all.end(), [](const Experiment& a, const Experiment& b) { return a.name < b.name; });
  return all;
}

std::string experiment_file(const std::string& name) {
  if (name.empty() || name.find_first_of("./") != std::string::npos) return "";
  const fs::path file = folder_of_experiments() / (name + std::string(kConfigExtension));
  std::error_code ignored;
  return fs::is_regular_file(file, ignored) ? file.string() : "";
}

int list_experiments(const Command& command) {
  const std::vector<Experiment> all = installed_experiments();
  if (all.empty()) throw Error("no experiments are installed beside the program; give the path of a config instead");
  for (const Experiment& experiment : all) {
    if (command.quiet) fmt::print("{}\n", experiment.name);
    else fmt::print("{:<20} {}\n", experiment.name, experiment.summary);
  }
  if (!command.quiet) print_stderr("their files, to copy and change: {}\n", folder_of_experiments().string());
  return kDone;
}

}  // namespace mgcompare
