// Configs that are written to break their reader. Each is refused, at its place, with little time and memory.

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <functional>
#include <string>

#include "tests/config/workspace.h"
#include "tests/processor_seconds.h"

namespace mgcompare {
namespace {

using namespace std::string_literals;

std::string repeated(std::size_t times, const std::string& text) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

// Each level has ten aliases of the level below.
std::string bomb() {
  std::string text = "a: &a [x, x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'l'; ++c) {
    const std::string below(1, static_cast<char>(c - 1));
    text += std::string(1, c) + ": &" + c + " [*" + below + repeated(9, ", *" + below) + "]\n";
  }
  return text;
}

std::string steps(std::size_t levels) {
  std::string text;
  for (std::size_t i = 0; i < levels; ++i) text += std::string(i, ' ') + "a:\n";
  return text;
}

struct Hostile {
  const char* name;
  std::function<std::string()> make;
};
void PrintTo(const Hostile& hostile, std::ostream* out) { *out << hostile.name; }

const Hostile kHostile[] = {
    {"Bomb", bomb},
    {"QuadraticBomb", [] { return "a: &a " + std::string(20000, 'x') + "\nb: [" + repeated(5000, "*a, ") + "*a]\n"; }},
    {"Cycle", [] { return "a: &a [*a]\n"s; }},
    {"CycleOfKeys", [] { return "a: &a {b: *a}\n"s; }},
    {"MergeOfItself", [] { return "a: &a\n  <<: *a\n"s; }},
    {"MergeOfAList", [] { return "<<: [{a: 1}, {b: 2}]\n"s; }},
    {"DeepBraces", [] { return "a: " + std::string(60000, '{'); }},
    {"DeepBrackets", [] { return "a: " + std::string(60000, '['); }},
    {"DeepBracketsOverLines", [] { return "a:\n" + repeated(100000, " [\n"); }},
    {"DeepKeys", [] { return steps(1000); }},
    {"DeepLists", [] { return "a:\n  " + repeated(30000, "- ") + "1\n"; }},
    {"DeepQuestions", [] { return repeated(30000, "? "); }},
    {"LongLine", [] { return "name: " + std::string(900000, 'x') + "\n"; }},
    {"LongKey", [] { return std::string(60000, 'k') + ": 1\n"; }},
    {"ManyValues", [] { return kGood + "seeds: [0" + repeated(11000, ",1") + "]\n"; }},
    {"ManyKeys", [] {
       std::string text = kGood;
       for (int i = 0; i < 9000; ++i) text += "k" + std::to_string(i) + ": 1\n";
       return text;
     }},
    {"ManyLines", [] { return kGood + repeated(500000, "\n") + "epochs: x\n"; }},
    {"ManyComments", [] { return kGood + repeated(100000, "# x\n") + "epochs: x\n"; }},
    {"Exponent", [] { return kGood + "epochs: 1e999\n"; }},
    {"Beyond64Bits", [] { return kGood + "epochs: 99999999999999999999999999\n"; }},
    {"Negative", [] { return kGood + "epochs: -9223372036854775808\n"; }},
    {"Hexadecimal", [] { return kGood + "epochs: 0xffffffffffffffff\n"; }},
    {"ThousandDigits", [] { return kGood + "epochs: 1" + std::string(5000, '0') + "\n"; }},
    {"HugeUnits", [] { return "layers: [{dense: 1000000000000}, {dense: 10}]\nstrategies: [serial]\n"s; }},
    {"HugeBatch", [] { return kGood + "scaling: {batch: 1000000000000}\n"; }},
    {"NanRate", [] { return kGood + "optimizer: {learning_rate: .nan}\n"; }},
    {"InfiniteRate", [] { return kGood + "optimizer: {learning_rate: .inf}\n"; }},
    {"NanInWords", [] { return kGood + "optimizer: {learning_rate: nan}\n"; }},
    {"NegativeZeroRate", [] { return kGood + "optimizer: {learning_rate: -0.0}\n"; }},
    {"DuplicateKeys", [] { return kGood + "epochs: 3\nepochs: 4\n"; }},
    {"DuplicateNestedKeys", [] { return kGood + "optimizer: {momentum: 0, momentum: 0.9}\n"; }},
    {"DuplicateQuotedKeys", [] { return kGood + "epochs: 3\n\"epochs\": 4\n"; }},
    {"Nul", [] { return kGood + "name: a\0b\n"s; }},
    {"Utf16", [] { return "\xff\xfe" "e\0p\0"s; }},
    {"Latin1", [] { return kGood + "name: gr\xfc\xdf\n"; }},
    {"OverlongUtf8", [] { return kGood + "name: \xc0\x80\n"; }},
    {"Surrogate", [] { return kGood + "name: \xed\xa0\x80\n"; }},
    {"Escape", [] { return kGood + "name: a\x1b]0;title\x07\n"; }},
    {"CarriageReturns", [] { return "layers: [{dense: 10}]\rstrategies: [serial]\repochs: x\r"s; }},
    {"WindowsLines", [] { return "layers: [{dense: 10}]\r\nstrategies: [serial]\r\nepochs: x\r\n"s; }},
    {"Tabs", [] { return kGood + "optimizer:\n\tmomentum: 0\n"; }},
    {"ByteOrderMarkWithin", [] { return kGood + "\xef\xbb\xbf" "epochs: 3\n"; }},
    {"Tag", [] { return kGood + "name: !!python/object/apply:os.system [ls]\n"; }},
    {"Anchor", [] { return kGood + "name: &a b\n"; }},
    {"SeveralDocuments", [] { return kGood + "---\n" + kGood; }},
    {"OpenQuote", [] { return kGood + "name: \"" + std::string(50000, 'x'); }},
    {"OpenBrace", [] { return kGood + "optimizer: {momentum: 0\n"; }},
    {"Directive", [] { return "%YAML 9.9\n%TAG ! tag:evil,2000:\n---\n" + kGood + "epochs: x\n"; }},
    {"ListAsKey", [] { return kGood + "[a, b]: c\n"; }},
    {"NullAsKey", [] { return kGood + "~: c\n"; }},
    {"OtherDirection", [] { return kGood + "\xe2\x80\xaesehcope: 3\n"; }},
    {"OtherDirectionByItsNumber", [] { return kGood + "name: \"\\u202eeman\"\n"; }},
    {"InvisibleSpace", [] { return kGood + "ep\xe2\x80\x8bochs: 3\n"; }},
};
static_assert(std::size(kHostile) >= 40);

long peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

class HostileConfigs : public Workspace, public testing::WithParamInterface<Hostile> {};

TEST_P(HostileConfigs, AreRefusedAtTheirPlaceWithoutEffort) {
  const std::string path = write("x.yaml", GetParam().make());
  const long before = peak_megabytes();
  const double begin = processor_seconds();
  const std::string said = complaint_of(path);
  EXPECT_LT(processor_seconds() - begin, 1);
  EXPECT_LT(peak_megabytes() - before, 100);
  EXPECT_THAT(said, testing::ContainsRegex("^x\\.yaml:[0-9]+:[0-9]+: error: "));
  EXPECT_LT(said.size(), 20000u);
  for (const char c : said) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << "a control character in the message";
  EXPECT_THAT(said, testing::Not(testing::HasSubstr("\xe2\x80\xae")));
}

INSTANTIATE_TEST_SUITE_P(All, HostileConfigs, testing::ValuesIn(kHostile),
                         [](const testing::TestParamInfo<Hostile>& info) { return info.param.name; });

}  // namespace
}  // namespace mgcompare
