#include "process/shared_position.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <utility>

#include <fmt/core.h>

#include "base/error_text.h"
#include "mgcompare/error.h"

namespace mgcompare {
namespace {

[[noreturn]] void fail_to_share(const char* what) {
  const int code = errno;
  throw Error(fmt::format("no memory can be shared with a worker process: {}: {}{}", what, error_text(code),
                          is_limit(code) ? "" : "; end other processes and run the command again"));
}

}  // namespace

SharedPosition::SharedPosition() : memory_(memfd_create("mgcompare position", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  if (memory_.number() < 0) fail_to_share("memfd_create");
  if (ftruncate(memory_.number(), sizeof(LivePosition)) != 0) fail_to_share("ftruncate");
  // Reading memory that the worker cut off would end the runner. Kernels that know no seals are not a reason to stop.
  fcntl(memory_.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  map();
  new (position_) LivePosition;
}

SharedPosition::SharedPosition(Descriptor descriptor) : memory_(std::move(descriptor)) {
  map();
  memory_.close();
}

SharedPosition::~SharedPosition() { munmap(position_, sizeof(LivePosition)); }

void SharedPosition::map() {
  void* const memory = mmap(nullptr, sizeof(LivePosition), PROT_READ | PROT_WRITE, MAP_SHARED, memory_.number(), 0);
  if (memory == MAP_FAILED) fail_to_share("mmap");
  position_ = static_cast<LivePosition*>(memory);
}

}  // namespace mgcompare
