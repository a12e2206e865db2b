#include "data/dataset.h"

#include <fmt/format.h>

#include <cerrno>

#include "base/error_text.h"
#include "base/free_memory.h"

namespace mgcompare {

SharedBytes::SharedBytes(std::vector<std::uint8_t> bytes) {
  const auto owned = std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes));
  data_ = owned->data();
  size_ = owned->size();
  owner_ = owned;
}

Split part_of(const Split& split, std::size_t begin, std::size_t end) {
  if (split.samples == 0) return split;
  const std::size_t size = split.values.size() / split.samples, targets = split.targets.size() / split.samples;
  Split part;
  part.samples = end - begin;
  part.values = split.values.slice(begin * size, end * size);
  part.targets.assign(split.targets.begin() + static_cast<std::ptrdiff_t>(begin * targets),
                      split.targets.begin() + static_cast<std::ptrdiff_t>(end * targets));
  return part;
}

void throw_not_opened(const std::string& path, int code) {
  const std::string text = fmt::format("{}: {}", path, error_text(code));
  if (code == ENOENT || code == ENOTDIR) throw DataMissing(text);
  throw DataError(text);
}

void check_fits_memory(const std::string& what, double bytes) {
  constexpr double kGibibyte = 1024.0 * 1024 * 1024;
  if (const double left = free_memory(); bytes > left) {
    throw DataError(fmt::format("{}: its samples need {:.1f} GiB of memory, and {:.1f} GiB are free: use a smaller set (a part of a set "
                                "needs memory for all of it), or a machine with more", what, bytes / kGibibyte, left / kGibibyte));
  }
}

}  // namespace mgcompare
