#include "reports/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/code_spans.h"

namespace mgcompare {
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

std::string markdown_sentence(std::string_view text) {
  const std::string clean = plain(text);
  std::string safe;
  for (const auto& [part, is_code] : parts_of_sentence(clean)) safe += is_code ? fmt::format("`{}`", part) : markdown(part);
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
  if (seconds < 0) return "-" + seconds_text(-seconds);
  if (seconds < 1e-7) return fmt::format("{:.3g} ns", seconds * 1e9);
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
