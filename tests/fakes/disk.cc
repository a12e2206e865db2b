// A disk that is full or broken, for LD_PRELOAD. MGCOMPARE_TEST_DISK=DIR:write:N fails the N-th and all later writes to files
// below DIR with ENOSPC, DIR:sync:N syncs with EIO and DIR:read:N reads with ESTALE, as a network disk that is gone.

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <string>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

struct Fault {
  std::string folder, kind;
  long first = 0;

  Fault() {
    const char* const given = std::getenv("MGCOMPARE_TEST_DISK");
    const std::string text = given == nullptr ? "" : given;
    const std::size_t last = text.rfind(':'), middle = text.rfind(':', last - 1);
    if (text.empty() || last == std::string::npos || middle == std::string::npos) return;
    folder = text.substr(0, middle) + "/";
    kind = text.substr(middle + 1, last - middle - 1);
    first = std::strtol(text.c_str() + last + 1, nullptr, 10);
  }
};

bool fails(int descriptor, const char* kind) {
  static const Fault fault;
  static std::atomic<long> calls{0};
  if (fault.kind != kind) return false;
  char path[PATH_MAX];
  const ssize_t size = readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), path, sizeof(path));
  if (size <= 0 || !std::string(path, static_cast<std::size_t>(size)).starts_with(fault.folder)) return false;
  if (++calls < fault.first) return false;
  errno = std::string(kind) == "write" ? ENOSPC : std::string(kind) == "sync" ? EIO : ESTALE;
  return true;
}

template <class F> F* real(const char* name) { return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name)); }

}  // namespace

EXPORTED ssize_t write(int file, const void* data, size_t size) {
  static auto* const next = real<ssize_t(int, const void*, size_t)>("write");
  return fails(file, "write") ? -1 : next(file, data, size);
}

EXPORTED ssize_t pwrite(int file, const void* data, size_t size, off_t at) {
  static auto* const next = real<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  return fails(file, "write") ? -1 : next(file, data, size, at);
}

EXPORTED ssize_t pwrite64(int file, const void* data, size_t size, off64_t at) {
  static auto* const next = real<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
  return fails(file, "write") ? -1 : next(file, data, size, at);
}

EXPORTED ssize_t read(int file, void* data, size_t size) {
  static auto* const next = real<ssize_t(int, void*, size_t)>("read");
  return fails(file, "read") ? -1 : next(file, data, size);
}

EXPORTED ssize_t pread(int file, void* data, size_t size, off_t at) {
  static auto* const next = real<ssize_t(int, void*, size_t, off_t)>("pread");
  return fails(file, "read") ? -1 : next(file, data, size, at);
}

EXPORTED ssize_t pread64(int file, void* data, size_t size, off64_t at) {
  static auto* const next = real<ssize_t(int, void*, size_t, off64_t)>("pread64");
  return fails(file, "read") ? -1 : next(file, data, size, at);
}

EXPORTED int fsync(int file) {
  static auto* const next = real<int(int)>("fsync");
  return fails(file, "sync") ? -1 : next(file);
}

EXPORTED int fdatasync(int file) {
  static auto* const next = real<int(int)>("fdatasync");
  return fails(file, "sync") ? -1 : next(file);
}
