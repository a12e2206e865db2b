// Hostile texts in report.html. Two layers protect a reader: the page escapes every text, and its content security policy
// forbids what would run all the same. Each is tested with the other one removed.

#include <gmock/gmock.h>

#include <vector>

#include "page/pages.h"
#include "results/hostile.h"

namespace mgcompare {
namespace {

using testing::HasSubstr;
using testing::Not;

// The texts. Each sets an attribute of the page with its number if it runs.
std::vector<std::string> armed() {
  std::vector<std::string> texts;
  for (std::size_t k = 0; k < hostile_texts().size(); ++k)
    texts.push_back(with_code(hostile_texts()[k].text, "document.documentElement.setAttribute(`data-ran" + std::to_string(k) + "`,1)"));
  return texts;
}

bool ran(const Shown& shown, std::size_t k) {
  const std::string tag = shown.dom.substr(0, shown.dom.find('>'));
  return tag.find("data-ran" + std::to_string(k) + "=") != std::string::npos;
}

// The page with all texts as they are below its heading, as if nothing escaped them.
std::string with_raw_texts(std::string page) {
  std::string raw;
  for (const std::string& text : armed()) raw += "<div>" + text + "</div>\n";
  return page.insert(page.find("<h1>") + 4, raw);
}

TEST_F(Page, HostileTextsAreData) {
  const Shown shown = show(page_of(hostile_run(armed())));
  for (std::size_t k = 0; k < armed().size(); ++k) EXPECT_FALSE(ran(shown, k)) << armed()[k];
  EXPECT_THAT(shown.dom, HasSubstr("&lt;/script&gt;&lt;img src=x"));
  EXPECT_EQ(shown.console, "");
  EXPECT_EQ(shown.requests, "");
}

TEST_F(Page, HostileTextsAreDataWithoutThePolicyToo) {
  const Shown shown = show(without_policy(page_of(hostile_run(armed()))));
  for (std::size_t k = 0; k < armed().size(); ++k) EXPECT_FALSE(ran(shown, k)) << armed()[k];
  EXPECT_EQ(shown.requests, "");
}

TEST_F(Page, ThePolicyHoldsWhereEscapingFails) {
  const Shown shown = show(with_raw_texts(wide_page()));
  for (std::size_t k = 0; k < armed().size(); ++k) EXPECT_FALSE(ran(shown, k)) << armed()[k];
  EXPECT_THAT(shown.console, HasSubstr("Content Security Policy"));
  EXPECT_EQ(shown.requests, "");
}

// Shows that the tests above can fail: without both layers each text runs or sends its request.
TEST_F(Page, WithoutBothHostileTextsRun) {
  const Shown shown = show(with_raw_texts(without_policy(wide_page())));
  for (std::size_t k = 0; k < armed().size(); ++k)
    EXPECT_EQ(ran(shown, k), hostile_texts()[k].by_a_browser == Obeyed::script) << armed()[k];
  for (const char* request : {"image", "sheet", "import", "object", "script"})
    EXPECT_THAT(shown.requests, HasSubstr(std::string("mgcompare.invalid/") + request));
}

}  // namespace
}  // namespace mgcompare
