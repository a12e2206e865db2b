#include "cli/documents.h"

#include <cctype>
#include <filesystem>
#include <system_error>

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFolder = "docs/", kDocumentExtension = ".md";

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; }

}  // namespace

std::string with_documents(std::string_view text, const std::string& prefix) {
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t at = text.find(kFolder, begin);
    if (at == std::string_view::npos) return result.append(text.substr(begin));
    std::size_t end = at + kFolder.size();
    while (end < text.size() && is_of_name(text[end])) ++end;
    const bool is_document = text.substr(end).starts_with(kDocumentExtension) && (at == 0 || (text[at - 1] != '/' && !is_of_name(text[at - 1])));
    if (is_document) end += kDocumentExtension.size();
    const std::string_view name = text.substr(at, end - at);
    const fs::path installed = fs::path(prefix) / "share" / "doc" / "mgcompare" / name;
    std::error_code ignored;
    result.append(text.substr(begin, at - begin)).append(is_document && fs::is_regular_file(installed, ignored) ? installed.string() : name);
    begin = end;
  }
  return result;
}

}  // namespace mgcompare
