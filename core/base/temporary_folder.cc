#include "base/temporary_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/error_text.h"
#include "mgcompare/error.h"

namespace mgcompare {

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  path_ = ((error ? std::filesystem::path("/tmp") : parent) / "mgcompare-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr)
    throw Error("no temporary folder can be made below " + parent.string() + ": " + error_text(errno) +
                "; set TMPDIR to a folder with space");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace mgcompare
