#include "base/temporary_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/error_text.h"
#include "mgcompare/error.h"

namespace mgcompare {
namespace {

constexpr std::string_view kPrefix = "mgcompare-scratch-", kPlaces = "XXXXXX";
constexpr std::time_t kLeftAlone = 24 * 60 * 60;  // seconds; programs of other versions may not lock their folders

Descriptor locked(const std::string& folder) {
  Descriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (opened.number() >= 0 && flock(opened.number(), LOCK_EX | LOCK_NB) != 0) opened.close();
  return opened;
}

bool is_abandoned(const std::string& folder) {
  struct stat found {};
  return lstat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && (found.st_mode & 0777) == 0700 &&
         found.st_uid == geteuid() && std::time(nullptr) - found.st_mtime > kLeftAlone && locked(folder).number() >= 0;
}

void remove_abandoned(const std::filesystem::path& parent) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(parent, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (name.starts_with(kPrefix) && name.size() == kPrefix.size() + kPlaces.size() && is_abandoned(entry->path().string()))
      std::filesystem::remove_all(entry->path(), ignored);
  }
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  if (error) parent = "/tmp";
  remove_abandoned(parent);
  path_ = (parent / kPrefix).string() + std::string(kPlaces);
  if (mkdtemp(path_.data()) == nullptr)
    throw Error("no temporary folder can be made below " + parent.string() + ": " + error_text(errno) +
                "; set TMPDIR to a folder with space");
  lock_ = locked(path_);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace mgcompare
