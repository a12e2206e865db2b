#include "reports/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace mgcompare {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// The length of the valid character that begins at `text[0]`; 0 where there is none.
std::size_t character_length(std::string_view text, std::uint32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0x80   ? 1
                             : byte(0) < 0xc2 ? 0
                             : byte(0) < 0xe0 ? 2
                             : byte(0) < 0xf0 ? 3
                             : byte(0) < 0xf5 ? 4
                                              : 0;
  if (length == 0 || length > text.size()) return 0;
  code = length == 1 ? byte(0) : byte(0) & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool valid = code >= kLeast[length] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return valid ? length : 0;
}

// A terminal's escape sequence from its ESC on: CSI to its final byte, OSC and the like to their end, else two bytes.
std::size_t escape_length(std::string_view text) {
  if (text.size() < 2) return text.size();
  if (text[1] == '[') {
    std::size_t i = 2;
    while (i < text.size() && text[i] >= 0x20 && text[i] < 0x40) ++i;
    return std::min(i + 1, text.size());
  }
  if (text[1] == ']' || text[1] == 'P' || text[1] == '_' || text[1] == '^' || text[1] == 'X') {
    const std::size_t end = text.find_first_of("\a\x1b\n", 2);
    if (end == std::string_view::npos) return text.size();
    return text[end] == '\x1b' ? std::min(end + 2, text.size()) : end + 1;
  }
  return 2;
}

bool is_invisible(std::uint32_t code) {
  return (code >= 0x80 && code < 0xa0) || (code >= 0x200b && code <= 0x200f) || (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2060 && code <= 0x206f) || code == 0x2028 || code == 0x2029 || code == 0xfeff;
}

std::string cleaned(std::string_view text, bool keep_lines) {
  // Nearly every text needs nothing.
  if (std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; })) return std::string(text);
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    std::uint32_t code = 0;
    std::size_t length = character_length(text, code);
    if (text[0] == '\x1b') {
      length = escape_length(text);
    } else if (length == 0) {
      clean += kReplacement;
      length = 1;
    } else if (text[0] == '\n' && keep_lines) {
      clean += '\n';
    } else if (code == '\n' || code == '\t') {
      clean += ' ';
    } else if (code >= 0x20 && code != 0x7f && !is_invisible(code)) {
      clean += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return clean;
}

}  // namespace

std::string plain(std::string_view text) { return cleaned(text, false); }
std::string plain_lines(std::string_view text) { return cleaned(text, true); }

std::string markdown(std::string_view text) {
  std::string safe;
  for (const char c : plain(text)) {
    if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '&')
      safe += "&amp;";
    else if (std::string_view("\\`*_[]|#~!").find(c) != std::string_view::npos)
      (safe += '\\') += c;
    else
      safe += c;
  }
  return safe;
}

std::string markdown_code(std::string_view text, std::string_view language) {
  const std::string clean = plain_lines(text);
  std::size_t longest = 2, run = 0;
  for (const char c : clean) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  return fmt::format("{}{}\n{}{}{}\n", fence, language, clean, clean.empty() || clean.back() == '\n' ? "" : "\n",
                     fence);
}

std::string csv_field(std::string_view text) {
  std::string clean = plain(text);
  const std::size_t first = clean.find_first_not_of(' ');
  if (first != std::string::npos && std::string_view("=+-@").find(clean[first]) != std::string_view::npos)
    clean.insert(clean.begin(), '\'');
  if (clean.find_first_of(",\"") == std::string::npos) return clean;
  std::string quoted(1, '"');
  for (const char c : clean) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string ascii(std::string_view text) {
  std::string plain_ascii;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80)
      plain_ascii += c;
    else if (byte >= 0xc0)
      plain_ascii += '?';
  }
  return plain_ascii;
}

std::string accuracy_text(double accuracy) { return std::isfinite(accuracy) ? fmt::format("{:.4f}", accuracy) : "-"; }

std::string count_text(double count) {
  if (!std::isfinite(count)) return "-";
  std::string digits = fmt::format("{:.0f}", std::abs(count));
  for (std::ptrdiff_t i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3)
    digits.insert(static_cast<std::size_t>(i), 1, ',');
  return fmt::format("{}{}", count < 0 ? "-" : "", digits);
}

std::string rate_text(double per_second) {
  if (!(std::abs(per_second) >= 1)) return count_text(per_second);
  const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(std::abs(per_second))) - 3));
  return count_text(std::round(per_second / unit) * unit);
}

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  if (seconds == 0) return "0 s";
  if (seconds < 1e-5) return fmt::format("{:.2f} us", seconds * 1e6);
  if (seconds < 0.001) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 0.1) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 10) return fmt::format("{:.{}f} s", seconds, seconds < 1 ? 3 : 2);
  return seconds < 100 ? fmt::format("{:.1f} s", seconds) : count_text(seconds) + " s";
}

std::string bytes_text(double bytes) {
  if (!std::isfinite(bytes)) return "-";
  if (bytes < 1e3) return fmt::format("{:.0f} B", bytes);
  if (bytes < 1e6) return fmt::format("{:.1f} kB", bytes / 1e3);
  return bytes < 1e9 ? fmt::format("{:.2f} MB", bytes / 1e6) : fmt::format("{:.2f} GB", bytes / 1e9);
}

std::string target_text(double share) { return fmt::format("{:.4g} %", share * 100); }

std::string change_text(double share) { return fmt::format("{}{}", share < 0 ? "" : "+", percent_text(share)); }

std::string percent_text(double share) {
  if (!std::isfinite(share)) return "-";
  const double percent = share * 100;
  return percent != 0 && std::abs(percent) < 10 ? fmt::format("{:.1f} %", percent) : fmt::format("{:.0f} %", percent);
}

}  // namespace mgcompare
