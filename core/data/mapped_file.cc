#include "data/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/descriptor.h"
#include "base/error_text.h"

namespace mgcompare {

namespace {

std::int64_t nanoseconds(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

MappedFile state_of(const std::string& path, const std::shared_ptr<const Descriptor>& file, const struct stat& facts) {
  return {path, file, static_cast<std::uint64_t>(facts.st_size), nanoseconds(facts.st_mtim), nanoseconds(facts.st_ctim)};
}

}  // namespace

std::string irregular_text(unsigned mode) { return S_ISDIR(mode) ? "not a regular file, but a folder: name the file in it" : "not a regular file"; }

Mapping map_file(const std::string& path) {
  // Without O_NONBLOCK, opening a named pipe would wait for a writer.
  const auto file = std::make_shared<const Descriptor>(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file->number() < 0) throw_not_opened(path, errno);
  struct stat facts {};
  if (fstat(file->number(), &facts) != 0 || !S_ISREG(facts.st_mode)) throw DataError(fmt::format("{}: {}", path, irregular_text(facts.st_mode)));
  const auto size = static_cast<std::size_t>(facts.st_size);
  if (size == 0) throw DataError(fmt::format("{}: the file is empty", path));
  void* const mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file->number(), 0);
  if (mapped == MAP_FAILED) throw DataError(fmt::format("{}: cannot be mapped into memory: {}", path, error_text(errno)));
  madvise(mapped, size, MADV_SEQUENTIAL);
  const std::shared_ptr<const void> owner(mapped, [size](void* all) { munmap(all, size); });
  return {{owner, static_cast<const std::uint8_t*>(mapped), size}, state_of(path, file, facts)};
}

FileChange change_of(const MappedFile& file) {
  struct stat facts {};
  if (fstat(file.opened->number(), &facts) != 0) return FileChange::attributes;
  const MappedFile now = state_of(file.path, file.opened, facts);
  if (now.size != file.size || now.modified != file.modified) return FileChange::contents;
  return now.changed != file.changed ? FileChange::attributes : FileChange::none;
}

void accept_change(MappedFile& file) {
  struct stat facts {};
  if (fstat(file.opened->number(), &facts) == 0) file = state_of(file.path, file.opened, facts);
}

}  // namespace mgcompare
