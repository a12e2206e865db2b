#include "base/atomic_files.h"

#include <unistd.h>

#include <cerrno>
#include <deque>
#include <memory>
#include <utility>

#include "base/atomic_file.h"

namespace mgcompare {

void write_all_atomically(Directory folder, const std::function<void(const AddFile&)>& write) {
  const auto shared = std::make_shared<const Directory>(std::move(folder));
  std::deque<AtomicFile> files;
  write([&](const std::string& name, std::string_view bytes) {
    AtomicFile& file = files.emplace_back(shared, name);
    file.write(bytes);
    // Their number is larger than that of the files that a process may have open.
    file.close();
  });
  if (syncfs(shared->descriptor()) != 0) throw FileError(shared->path(), errno);
  for (AtomicFile& file : files) file.rename();
  fsync(shared->descriptor());  // the new names; not every file system can do this
}

}  // namespace mgcompare
