#include "data/text_encoding.h"

#include <fmt/format.h>

namespace mgcompare {

std::string_view wide_encoding(std::string_view text) {
  using namespace std::string_view_literals;
  // The mark of UTF-32 in little-endian order begins as that of UTF-16 does.
  if (text.starts_with("\xff\xfe\0\0"sv) || text.starts_with("\0\0\xfe\xff"sv)) return "UTF-32";
  if (text.starts_with("\xff\xfe"sv) || text.starts_with("\xfe\xff"sv)) return "UTF-16";
  if (text.size() < 4) return "";
  const bool zeros[] = {text[0] == 0, text[1] == 0, text[2] == 0, text[3] == 0};
  return zeros[0] == zeros[2] && zeros[1] == zeros[3] && zeros[0] != zeros[1] ? "UTF-16" : "";
}

std::string wide_encoding_text(std::string_view encoding) {
  return fmt::format("the text is in {0}: convert it to UTF-8, for example with `iconv -f {0} -t UTF-8`", encoding);
}

}  // namespace mgcompare
