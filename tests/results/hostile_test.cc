// Hostile texts in the formats without a browser: Markdown, CSV and the terminal. tests/page/hostile_test.cc has the page.

#include "results/hostile.h"

#include <gmock/gmock.h>

#include <cctype>

#include "reports/csv.h"
#include "reports/markdown.h"
#include "reports/summary.h"
#include "results/markdown_lines.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class HostileTexts : public testing::TestWithParam<HostileText> {
 protected:
  const mgcompare::Run run_ = hostile_run({with_code(GetParam().text, "alert(1)")});
};

// No control character but the end of a line, no change of the direction of text, and valid UTF-8.
void expect_plain(const std::string& text) {
  for (const char c : text) ASSERT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << static_cast<int>(c);
  EXPECT_THAT(text, AllOf(Not(HasSubstr("\xe2\x80\xae")), Not(HasSubstr("\xc2\x9b")), Not(HasSubstr("\xff")), Not(HasSubstr("\xc0\x80")),
                          Not(HasSubstr("\x7f"))));
}

TEST_P(HostileTexts, AreInertInMarkdown) {
  const std::string text = markdown_report(compare_rows(run_));
  expect_plain(text);
  for (const std::string& line : markdown_lines(text))
    EXPECT_THAT(line, AllOf(Not(HasSubstr("<")), Not(testing::StartsWith("# heading")), Not(testing::ContainsRegex("(^|[^\\\\])\\]\\("))));
}

// The fields of a CSV file, as a spreadsheet reads them.
std::vector<std::string> fields_of(const std::string& csv) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < csv.size(); ++i) {
    if (quoted && csv[i] == '"' && i + 1 < csv.size() && csv[i + 1] == '"') fields.back() += csv[i++];
    else if (csv[i] == '"') quoted = !quoted;
    else if (!quoted && (csv[i] == ',' || csv[i] == '\n')) fields.emplace_back();
    else fields.back() += csv[i];
  }
  return fields;
}

TEST_P(HostileTexts, AreNoFormulasInCsv) {
  std::string text = csv_report(run_);
  for (std::size_t at = 0; (at = text.find("\r\n", at)) != std::string::npos; ++at) text.erase(at, 1);  // ends of lines
  expect_plain(text);
  const std::vector<std::string> fields = fields_of(text);
  EXPECT_GT(fields.size(), 100u);
  for (const std::string& field : fields) {
    std::size_t read = 0;
    try {
      std::stod(field, &read);
    } catch (const std::exception&) {
    }
    const bool is_number = !field.empty() && read == field.size();
    EXPECT_TRUE(is_number || field.empty() || std::string("=+-@\t\r").find(field[0]) == std::string::npos) << field;
  }
}

TEST_P(HostileTexts, ArePlainOnATerminal) {
  expect_plain(closing_summary(run_, {}));
  const std::string ascii = closing_summary(run_, {.utf8 = false});
  for (const char c : ascii) ASSERT_GE(c, '\n');
}

INSTANTIATE_TEST_SUITE_P(All, HostileTexts, testing::ValuesIn(hostile_texts()), [](const testing::TestParamInfo<HostileText>& info) {
  return std::to_string(info.index);
});

}  // namespace
}  // namespace mgcompare
