#pragma once

// Messages for the user beside the results. A stream that is closed, full or a broken pipe loses the message and never
// ends the run.

#include <cstdio>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace mgcompare {

template <class... Args> void print_to(std::FILE* stream, fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  std::fwrite(text.data(), 1, text.size(), stream);
}

template <class... Args> void print_stderr(fmt::format_string<Args...> format, Args&&... args) {
  print_to(stderr, format, std::forward<Args>(args)...);
}

}  // namespace mgcompare
