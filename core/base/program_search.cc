#include "base/program_search.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace mgcompare {

namespace fs = std::filesystem;

bool is_program(const fs::path& file) {
  std::error_code error;
  return fs::is_regular_file(file, error) && access(file.c_str(), X_OK) == 0;
}

std::string find_program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    if (const fs::path file = fs::path(folder) / name; folder.starts_with('/') && is_program(file)) return file.string();
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
  }
  return "";
}

}  // namespace mgcompare
