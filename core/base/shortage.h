#pragma once

// Shortages of the machine that pass: they say nothing about devices, files or plugins.

#include <cerrno>
#include <cstring>
#include <string_view>

namespace mgcompare {

// Whether the text of an error is about too many open files or processes.
inline bool is_passing_shortage(std::string_view text) {
  for (const int code : {EMFILE, ENFILE, EAGAIN})
    if (text.find(std::strerror(code)) != std::string_view::npos) return true;
  return false;
}

}  // namespace mgcompare
