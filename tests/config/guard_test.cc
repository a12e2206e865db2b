// Files that must be rejected before a parser sees them.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "tests/config/workspace.h"

namespace mgcompare {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class Guard : public Workspace {};

TEST_F(Guard, SaysWhatIsWrongWithTheFileItself) {
  EXPECT_THAT(complaint_of((folder_ / "none.yaml").string()), StartsWith("none.yaml: error: there is no such file"));
  EXPECT_THAT(complaint_of(folder_.string()), HasSubstr("is a folder; give the file in it"));
  std::filesystem::create_symlink("loop.yaml", folder_ / "loop.yaml");
  EXPECT_THAT(complaint_of((folder_ / "loop.yaml").string()), HasSubstr("cannot be read: Too many levels of symbolic links"));
  const std::string fifo = (folder_ / "fifo").string();
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(complaint_of(fifo), HasSubstr("is not a regular file"));
  EXPECT_THAT(complaint_of("/dev/zero"), HasSubstr("is not a regular file"));
  EXPECT_THAT(complaint(""), HasSubstr("x.yaml:1:1: error: the config is empty"));
  EXPECT_THAT(complaint("# only a comment\n"), HasSubstr("the config is empty"));
  EXPECT_THAT(complaint("~\n"), HasSubstr("the config is empty"));
  EXPECT_THAT(complaint("- a\n"), HasSubstr("a config is a section of keys, not a list"));
  EXPECT_THAT(complaint("word\n"), HasSubstr("a config is a section of keys, not 'word'"));
}

// Number of bytes that this process has read so far.
std::uint64_t bytes_read() {
  std::ifstream io("/proc/self/io");
  std::string name;
  std::uint64_t bytes = 0;
  io >> name >> bytes;
  EXPECT_EQ(name, "rchar:");
  return bytes;
}

// The file is rejected because of its size, without being read.
TEST_F(Guard, AnswersAtOnceToOneGigabyte) {
  const std::string path = write("huge.yaml", "");
  std::filesystem::resize_file(path, std::uintmax_t{1} << 30);  // sparse
  const std::uint64_t before = bytes_read();
  EXPECT_THAT(complaint_of(path), HasSubstr("has 1,073,741,824 bytes"));
  EXPECT_LT(bytes_read() - before, 1u << 20);
}

TEST_F(Guard, RefusesWhatIsNotText) {
  using namespace std::string_literals;
  EXPECT_THAT(complaint("epochs: 3\nname: a\0b\n"s), HasSubstr("x.yaml:2:8: error: has a NUL character here"));
  EXPECT_THAT(complaint("epochs: 3\nname: \xff\n"), HasSubstr("x.yaml:2:7: error: is not UTF-8 here"));
  EXPECT_THAT(complaint("name: \xc0\x80\n"), HasSubstr("is not UTF-8"));          // overlong NUL
  EXPECT_THAT(complaint("name: \xed\xa0\x80\n"), HasSubstr("is not UTF-8"));      // surrogate
  EXPECT_THAT(complaint("name: \xf4\x90\x80\x80\n"), HasSubstr("is not UTF-8"));  // beyond Unicode
  EXPECT_THAT(complaint("name: \xe2\x82"), HasSubstr("is not UTF-8"));            // cut off
  EXPECT_THAT(complaint("\xff\xfe"
                        "e\0"s),
              HasSubstr("is not UTF-8"));  // UTF-16
  EXPECT_THAT(complaint("name: a\x1b[31m\n"), HasSubstr("x.yaml:1:8: error: has a control character (U+001B) here"));
  EXPECT_THAT(complaint("name: a\repochs: 1\r"), HasSubstr("x.yaml:1:8: error: has line ends of old Macintosh files (CR) here; save it with those of Unix"));
  EXPECT_THAT(complaint("name: a\x1b[31m\n"), testing::Not(HasSubstr("\x1b")));
}

TEST_F(Guard, TakesByteOrderMarksAndCarriageReturns) {
  EXPECT_EQ(complaint("\xef\xbb\xbf" + kGood), "");
  std::string windows;
  for (const char c : kGood + "name: lenet\n") windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(read(windows).name, "lenet");
  EXPECT_THAT(complaint(windows + "epochs: x\r\n"), HasSubstr("x.yaml:4:9: error: 'epochs'"));
  EXPECT_THAT(complaint(windows + "epochs: x\r\n"), testing::Not(HasSubstr("\r")));
}

TEST_F(Guard, CountsColumnsInCharacters) {
  EXPECT_THAT(complaint(kGood + "data: {set: \"\xc3\xbc\xc3\xbc\", on: moon}\n"),
              HasSubstr("x.yaml:3:23: error: 'data.on' must be one of device, host, not 'moon'\n"
                        "    3 | data: {set: \"\xc3\xbc\xc3\xbc\", on: moon}\n"
                        "      |                       ^^^^"));
}

TEST_F(Guard, RefusesDuplicatesWithBothPlaces) {
  EXPECT_THAT(complaint(kGood + "epochs: 3\nepochs: 4\n"), HasSubstr("x.yaml:4:1: error: key 'epochs' is given twice\n"
                                                                     "    4 | epochs: 4\n"
                                                                     "      | ^^^^^^ it is already at x.yaml:3:1"));
}

TEST_F(Guard, RefusesAnchorsAliasesMergeKeysAndTags) {
  const std::string text = complaint(kGood + "seeds: &s [1]\nepochs: *s\n<<: *s\nname: !!str 12\n");
  EXPECT_THAT(text, HasSubstr("x.yaml:3:8: error: anchors (&name) are not supported"));
  EXPECT_THAT(text, HasSubstr("x.yaml:4:9: error: aliases (*name) are not supported"));
  EXPECT_THAT(text, HasSubstr("x.yaml:5:1: error: merge keys (<<) are not supported"));
  EXPECT_THAT(text, HasSubstr("x.yaml:6:7: error: tags (tag:yaml.org,2002:str) are not supported"));
}

TEST_F(Guard, EndsBombsAndCycles) {
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'l'; ++c) {
    bomb += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 10; ++i) bomb += (i ? ", *" : "*") + std::string(1, static_cast<char>(c - 1));
    bomb += "]\n";
  }
  EXPECT_THAT(complaint(bomb), HasSubstr("aliases (*name) are not supported"));
  EXPECT_THAT(complaint("a: &a [*a]\n"), HasSubstr("aliases (*name) are not supported"));
  EXPECT_THAT(complaint("a: " + std::string(60000, '{')), HasSubstr("x.yaml:1:35: error: more than 32 nested levels"));
  EXPECT_THAT(complaint("\na: " + std::string(100000, '[')),
              HasSubstr("x.yaml:2:1: error: has a line that is too long"));
  EXPECT_THAT(complaint("a: " + std::string(60000, '[')), HasSubstr("more than 32 nested levels"));
  std::string many = "seeds: [0";
  for (int i = 1; i < 11000; ++i) many.append(",").append(std::to_string(i));
  EXPECT_THAT(complaint(many + "]\n"), HasSubstr("the file has more than 10000 values"));
}

TEST_F(Guard, SaysWhereTheSyntaxBreaks) {
  EXPECT_THAT(complaint("epochs: 3\noptimizer: {kind: sgd\n"), HasSubstr("error: this is not YAML: "));
  EXPECT_THAT(complaint("epochs: 3\n\tname: x\n"),
              testing::AllOf(HasSubstr("x.yaml:2:1: error: this is not YAML: "), HasSubstr("spaces, not with tabs")));
  EXPECT_THAT(complaint(kGood + "---\nepochs: 3\n"), HasSubstr("the file has several documents"));
  EXPECT_THAT(complaint("[a, b]: c\n" + kGood), HasSubstr("a key must be a word"));
  EXPECT_THAT(complaint("~: c\n" + kGood), HasSubstr("a key must be a word"));
}

TEST_F(Guard, CutsLongLinesAndLongLists) {
  const std::string text = complaint(kGood + "name: " + std::string(5000, 'x') + "\n");
  EXPECT_THAT(text, HasSubstr("'name' must be text"));
  EXPECT_LT(text.size(), 800u);
  std::string wrong = kGood;
  for (int i = 0; i < 50; ++i) wrong += "wrong" + std::to_string(i) + ": 1\n";
  EXPECT_THAT(complaint(wrong), testing::EndsWith("and 30 more\n50 errors"));
}

}  // namespace
}  // namespace mgcompare
