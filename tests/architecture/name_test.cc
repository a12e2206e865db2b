// Names that must be unique although no compiler says so.
//
// Two types of one name in one namespace are undefined behaviour as soon as one program holds both: the linker keeps one copy of
// the templates that were made of them, such as std::vector's, and calls it for both. No compiler sees this.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace mgcompare {
namespace {

namespace fs = std::filesystem;
using testing::SizeIs;

// Calls visit(path, lines) for each file of core and reports with this extension.
template <class Visit>
void each_source(const std::string& extension, Visit visit) {
  for (const char* top : {"core", "reports"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::path(MGCOMPARE_SOURCE_DIR) / top)) {
      if (entry.path().extension() != extension) continue;
      std::ifstream file(entry.path());
      visit(entry.path(), file);
    }
  }
}

TEST(Names, OfTypesInHeadersAreUniqueInTheirNamespace) {
  static const std::regex begin("^namespace ([a-z_:]+) \\{.*"), type("^(struct|class) ([A-Za-z_]+)( final)?( :.*| ?\\{.*|)$");
  std::map<std::string, std::vector<std::string>> headers;
  each_source(".h", [&](const fs::path& path, std::istream& lines) {
    std::string space;
    std::smatch match;
    for (std::string line; std::getline(lines, line);) {
      if (std::regex_match(line, match, begin)) space = match[1];
      else if (std::regex_match(line, match, type)) headers[space + "::" + match[2].str()].push_back(path.string());
    }
  });
  EXPECT_GT(headers.size(), 200u);
  for (const auto& [name, files] : headers) EXPECT_THAT(files, SizeIs(1)) << name;
}

// Most builds compile several sources of a folder as one. A function template there may fit better than the function of the same name that
// another source means: checksums of results were once made of JSON. Templates whose parameters fill more than a line are not found.
TEST(Names, OfTemplatesInSourcesAreUniqueInTheirFolder) {
  static const std::regex parameters("^template <[^>]*(<[^>]*>)?[^>]*> ?"), function("^[A-Za-z\\[][^=(]*[ *&](\\w+)\\(.*");
  std::map<std::string, std::set<std::string>> sources;  // by folder and name
  std::set<std::string> templates;
  each_source(".cc", [&](const fs::path& path, std::istream& lines) {
    bool is_template = false;
    std::smatch match;
    for (std::string line; std::getline(lines, line);) {
      is_template |= line.rfind("template <", 0) == 0;
      const std::string declaration = std::regex_replace(line, parameters, "");
      if (declaration.empty()) continue;
      if (std::regex_match(declaration, match, function)) {
        const std::string name = path.parent_path().string() + ": " + match[1].str();
        sources[name].insert(path.filename().string());
        if (is_template) templates.insert(name);
      }
      is_template = false;
    }
  });
  EXPECT_GT(templates.size(), 25u);
  for (const std::string& name : templates) EXPECT_THAT(sources.at(name), SizeIs(1)) << name;
}

}  // namespace
}  // namespace mgcompare
