#include "reports/text.h"
#include "base/text.h"

#include <gmock/gmock.h>

namespace mgcompare {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Plain, TakesAwayWhatATerminalWouldObey) {
  EXPECT_EQ(plain("\x1b[31mred\x1b[0m"), "red");
  EXPECT_EQ(plain("\x1b]0;title\a after"), " after");
  EXPECT_EQ(plain("\x1b]8;;http://x\x1b\\link"), "link");
  EXPECT_EQ(plain("a\x1b"), "a");
  EXPECT_EQ(plain("a\rb\bc\x7f\a"), "abc");
  EXPECT_EQ(plain("two\nlines\tand"), "two lines and");
  EXPECT_EQ(plain_lines("two\nlines\x1b[2J"), "two\nlines");
  EXPECT_EQ(plain("\xc2\x9b"
                  "31m"),
            "31m");
  EXPECT_EQ(plain("a\xe2\x80\xae"
                  "b\xe2\x80\x8b"
                  "c"),
            "abc");
  EXPECT_EQ(plain(std::string_view("nul\0!", 5)), "nul!");
}

TEST(Plain, MakesValidUtf8) {
  EXPECT_EQ(plain("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  for (const char* bad : {"\xff", "\xc3", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
    const std::string clean = plain(bad);
    EXPECT_THAT(clean, HasSubstr("\xef\xbf\xbd"));
    EXPECT_EQ(plain(clean), clean);
  }
}

TEST(Markdown, IsInert) {
  EXPECT_EQ(markdown("a|b"), "a\\|b");
  EXPECT_EQ(markdown("<img src=x onerror=alert(1)>"), "&lt;img src=x onerror=alert(1)&gt;");
  EXPECT_EQ(markdown("[x](javascript:y) `c` *b* _i_ #h"), "\\[x\\](javascript:y) \\`c\\` \\*b\\* \\_i\\_ \\#h");
  EXPECT_THAT(markdown("a\n| b |"), Not(HasSubstr("\n")));
}

TEST(Markdown, HasCodeInSentencesOnly) {
  EXPECT_EQ(markdown_sentence("try `batch_norm: sync`, or `*`"), "try `batch_norm: sync`, or \\`\\*\\`");
  EXPECT_EQ(markdown_sentence("`run --until-decided`"), "`run --until-decided`");
  for (const char* text : {"a ` b ` c", "``a``", "`a``b`", "`<img>`", "`a|b`", "one ` tick", "`a\\`", "` `"})
    EXPECT_EQ(markdown_sentence(text), markdown(text)) << text;
}

TEST(Markdown, NothingClosesAFence) {
  EXPECT_EQ(markdown_code("x", "yaml"), "```yaml\nx\n```\n");
  EXPECT_EQ(markdown_code("a\n````\nb\n"), "`````\na\n````\nb\n`````\n");
}

TEST(Csv, IsNoFormula) {
  EXPECT_EQ(csv_field("plain"), "plain");
  EXPECT_EQ(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
  for (const char* formula : {"=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "\r=1", "\x1b[0m=1"}) {
    const std::string field = csv_field(formula);
    EXPECT_EQ(field[field[0] == '"' ? 1 : 0], '\'') << field;
  }
  EXPECT_EQ(csv_field("two\nlines"), "two lines");
}

TEST(Text, CountsCharactersAndFallsBackToAscii) {
  EXPECT_EQ(width_of("gr\xc3\xbc\xc3\x9f"), 4u);
  EXPECT_EQ(ascii("gr\xc3\xbc\xc3\x9f"), "gr??");
}

TEST(Text, IsShortenedBetweenCharacters) {
  EXPECT_EQ(shortened("short", 5), "short");
  EXPECT_EQ(shortened("longer", 4), "long [2 bytes left out]");
  EXPECT_EQ(shortened("gr\xc3\xbc\xc3\x9f", 3), "gr [4 bytes left out]");
  EXPECT_EQ(shortened("gr\xc3\xbc\xc3\x9f", 4), "gr\xc3\xbc [2 bytes left out]");
  EXPECT_EQ(shortened("\x80\x80\x80\x80\x80\x80", 4), "\x80 [5 bytes left out]") << "no text at all";
}

TEST(Text, WritesFigures) {
  EXPECT_EQ(count_text(1234567), "1,234,567");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(-1000), "-1,000");
  EXPECT_EQ(seconds_text(0.0005), "500 us");
  EXPECT_EQ(seconds_text(0.0123), "12.3 ms");
  EXPECT_EQ(seconds_text(3.14159), "3.14 s");
  EXPECT_EQ(seconds_text(31.4159), "31.4 s");
  EXPECT_EQ(seconds_text(3141.59), "3,142 s");
  EXPECT_EQ(bytes_text(1724320), "1.72 MB");
  EXPECT_EQ(rate_text(7964520), "7,965,000");
  EXPECT_EQ(rate_text(12345), "12,350");
  EXPECT_EQ(rate_text(9999.6), "10,000");
  EXPECT_EQ(rate_text(1616), "1,616");
  EXPECT_EQ(rate_text(87.4), "87");
  EXPECT_EQ(rate_text(0), "0");
  EXPECT_EQ(rate_text(std::nan("")), "-");
  EXPECT_EQ(percent_text(0.97), "97 %");
  EXPECT_EQ(percent_text(1.13), "113 %");
  EXPECT_EQ(percent_text(0.0123), "1.2 %");
  EXPECT_EQ(accuracy_text(0.99123), "0.9912");
  EXPECT_EQ(accuracy_text(std::nan("")), "-");
}

}  // namespace
}  // namespace mgcompare
