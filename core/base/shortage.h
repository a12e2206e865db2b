#pragma once

// Shortages and faults of the machine: they say nothing about devices, data or plugins.

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <string_view>

namespace mgcompare {

// Whether the text of an error names one of these values of errno.
inline bool names_any(std::string_view text, std::initializer_list<int> codes) {
  return std::any_of(codes.begin(), codes.end(), [&](int code) { return text.find(std::strerror(code)) != std::string_view::npos; });
}

// Too many open files or processes.
inline bool is_passing_shortage(std::string_view text) { return names_any(text, {EMFILE, ENFILE, EAGAIN}); }

// A disk that is full, broken or read-only, or a limit on files.
inline bool is_unwritable_disk(std::string_view text) { return names_any(text, {ENOSPC, EDQUOT, EFBIG, EROFS, EIO}); }

}  // namespace mgcompare
