#include "base/text.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>
#include <locale.h>
#include <wchar.h>

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
         (code >= 0x2060 && code <= 0x206f) || code == 0x061c || code == 0x180e || code == 0x2028 || code == 0x2029 || code == 0xfeff;
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

// By the tables of the C library, whatever locale the program runs in.
std::size_t columns_of(std::uint32_t code) {
  if (code < 0x7f) return 1;
  static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (utf8 == nullptr) return 1;
  const locale_t before = uselocale(utf8);
  const int columns = wcwidth(static_cast<wchar_t>(code));
  uselocale(before);
  return columns < 0 ? 1 : static_cast<std::size_t>(columns);
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  std::uint32_t code = 0;
  return text.empty() ? 0 : character_length(text, code);
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string plain(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return cleaned(text, false);
}

std::string plain_lines(std::string_view text) { return cleaned(text, true); }

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    std::uint32_t code = 0;
    const std::size_t length = character_length(text, code);
    width += length == 0 ? 1 : columns_of(code);
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return width;
}

std::string_view fitting(std::string_view text, std::size_t columns) {
  std::size_t end = 0, width = 0;
  while (end < text.size()) {
    const std::size_t length = std::max<std::size_t>(1, utf8_length(text.substr(end)));
    width += width_of(text.substr(end, length));
    if (width > columns) break;
    end += length;
  }
  return text.substr(0, end);
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

std::string shortened(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  // Not within a character.
  std::size_t end = bytes;
  while (end > 0 && bytes - end < 3 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return fmt::format("{} [{} bytes left out]", text.substr(0, end), text.size() - end);
}

std::string in_shell(std::string_view text) {
  std::string safe = "'";
  for (const char c : plain(text)) safe += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return safe + "'";
}

}  // namespace mgcompare
