#include "reports/report_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/atomic_file.h"
#include "results/results_store.h"

namespace mgcompare {

void write_report_file(const std::string& path, const std::function<void(const Append&)>& write) {
  try {
    AtomicFile file(path);
    write([&](std::string_view text) { file.write(text); });
    file.commit();
  } catch (const FileError& error) {
    const bool has_folder = std::filesystem::exists(std::filesystem::path(path).parent_path() / kResultsFile);
    throw NotWritable(fmt::format("{}{}", error.what(),
                                  has_folder ? "; the results are kept, and `mgcompare report` writes the reports again"
                                             : "; the directory of the run was removed, and its results with it"));
  }
}

void write_report_file(const std::string& path, std::string_view text) {
  write_report_file(path, [&](const Append& append) { append(text); });
}

}  // namespace mgcompare
