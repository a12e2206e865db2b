#include "discovery/file_writers.h"

#include "base/text.h"
#include "mgcompare/error.h"

namespace fs = std::filesystem;

namespace mgcompare {
namespace {

bool is_sticky(const fs::path& folder) {
  std::error_code error;
  return (fs::status(folder, error).permissions() & fs::perms::sticky_bit) != fs::perms::none;
}

[[noreturn]] void refuse_writable(const fs::path& path, const std::string& what) {
  throw Error("is not used, because every user of this machine can " + what + "; run: chmod o-w " + plain(path.string()));
}

}  // namespace

bool is_writable_by_all(const fs::path& path) {
  std::error_code error;
  return (fs::status(path, error).permissions() & fs::perms::others_write) != fs::perms::none;
}

void check_writers(const std::string& file) {
  std::error_code error;
  const fs::path target = fs::canonical(file, error);
  if (is_writable_by_all(target)) refuse_writable(target, "change it");
  for (fs::path folder = target.parent_path(); folder != folder.root_path() && !folder.empty(); folder = folder.parent_path())
    if (is_writable_by_all(folder) && !is_sticky(folder)) refuse_writable(folder, "replace it");
}

}  // namespace mgcompare
