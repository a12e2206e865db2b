#include "results/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/descriptor.h"
#include "base/error_text.h"

namespace mgcompare {
namespace {

// The last bytes of a journal that names the journal of a transaction over several databases. Ours never have those.
constexpr std::array<unsigned char, 8> kNamesAnother = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};

}  // namespace

std::string journal_problem(const std::string& path) {
  // Without O_NONBLOCK, opening a named pipe would wait for its writer.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.number() < 0) {
    const int reason = errno;
    if (reason == ENOENT) return "";
    return reason == ELOOP ? "not a regular file" : fmt::format("cannot be read: {}", error_text(reason));
  }
  struct stat facts {};
  if (fstat(file.number(), &facts) != 0) return fmt::format("cannot be read: {}", error_text(errno));
  if (!S_ISREG(facts.st_mode)) return "not a regular file";
  if (facts.st_size > kMostJournalBytes) return fmt::format("larger than {} MB, which journals of results never are", kMostJournalBytes >> 20);
  std::array<unsigned char, kNamesAnother.size()> last{};
  if (facts.st_size < static_cast<off_t>(last.size())) return "";
  if (pread(file.number(), last.data(), last.size(), facts.st_size - static_cast<off_t>(last.size())) != static_cast<ssize_t>(last.size()))
    return "cannot be read";
  return last == kNamesAnother ? "names the journal of another database, which those of results never do" : "";
}

}  // namespace mgcompare
