#include <gmock/gmock.h>

#include "data/files.h"
#include "data/load.h"
#include "data/refusal.h"
#include "data/text_set.h"
#include "data/tokens.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Bytes bytes(const std::string& text) { return {text.begin(), text.end()}; }

std::vector<std::int32_t> inputs(const Split& split) {
  std::vector<std::int32_t> values(split.values.size() / 4);
  std::copy(split.values.begin(), split.values.end(), reinterpret_cast<std::uint8_t*>(values.data()));
  return values;
}

DataConfig tokens_in(const std::string& path) {
  DataConfig config;
  config.set = DataSource::tokens;
  config.path = path;
  config.validation_samples = 1;
  return config;
}

TEST(Tokens, TheLastOfALineIsTheTarget) {
  const Folder folder;
  for (const std::string text : {"1,2,3\n4,5,6\n0,0,7\n", "1 2 3\r\n4\t5\t6\r\n\n0;0;7", " 1, 2, 3\n4 ,5 ,6\n0 0 7\n\n"}) {
    const Dataset set = load_dataset(tokens_in(folder.write("t.csv", bytes(text))), {}, nullptr);
    EXPECT_EQ(set.spec.shape, (Shape{2}));
    EXPECT_EQ(set.spec.tokens, 8u);
    EXPECT_EQ(set.spec.classes, 8u);
    EXPECT_EQ(set.spec.largest.place, "sample 2 of " + folder.path("t.csv"));
    EXPECT_THAT(inputs(set.train), ElementsAre(1, 2, 4, 5));
    EXPECT_THAT(set.train.targets, ElementsAre(3, 6));
    EXPECT_THAT(set.test.targets, ElementsAre(7));
  }
}

TEST(Tokens, OrEveryNextOneIs) {
  const Folder folder;
  DataConfig config = tokens_in(folder.write("t.gz", gzip(bytes("1,2,3\n4,5,6\n"))));
  config.target = TargetKind::next;
  config.classes = 100;
  const Dataset set = load_dataset(config, {}, nullptr);
  EXPECT_EQ(set.spec.targets, 2u);
  EXPECT_EQ(set.spec.classes, 100u);
  EXPECT_THAT(set.train.targets, ElementsAre(2, 3));
  EXPECT_EQ(set.spec.output(), (Shape{2, 100}));
}

TEST(Tokens, AValidationFileIsTheTestSet) {
  const Folder folder;
  DataConfig config = tokens_in(folder.write("t.csv", bytes("1,2,3\n4,5,6\n")));
  config.validation_samples = 0;
  config.validation = folder.write("v.csv", bytes("9,9,1\n"));
  const Dataset set = load_dataset(config, {}, nullptr);
  EXPECT_EQ(set.train.samples, 2u);
  EXPECT_THAT(set.test.targets, ElementsAre(1));
  EXPECT_EQ(set.spec.tokens, 10u);
  EXPECT_EQ(set.spec.largest.place, "sample 0 of " + folder.path("v.csv"));
  folder.write("v.csv", bytes("9,9,1,1\n"));
  EXPECT_THAT(refusal([&] { load_dataset(config, {}, nullptr); }), HasSubstr("v.csv: line 1: it has 4 integers, and 3 are needed"));
}

TEST(Tokens, OfOneTargetLeaveNothingToLearn) {
  const Folder folder;
  DataConfig config = tokens_in(folder.write("t.csv", bytes("1,2,3\n4,5,3\n6,7,3\n")));
  const auto text = [&] { return refusal([&] { load_dataset(config, {}, nullptr); }); };
  EXPECT_THAT(text(), HasSubstr("t.csv: all 3 targets are 3: with one class there is nothing to learn; check how they were saved"));
  config.target = TargetKind::next;
  EXPECT_EQ(text(), "accepted");
  folder.write("t.csv", bytes("3,3,3\n3,3,3\n"));
  EXPECT_THAT(text(), HasSubstr("all 4 targets are 3"));
  config.set = DataSource::text;
  config.length = 2;
  folder.write("t.csv", bytes("aaaaaaaaaaaa"));
  EXPECT_THAT(text(), HasSubstr("t.csv: all 12 characters are the same: with one class there is nothing to learn"));
}

TEST(Tokens, RefuseDamage) {
  const Folder folder;
  const auto text = [&](const std::string& content) {
    const std::string path = folder.write("t.csv", bytes(content));
    return refusal([&] { read_tokens(path, 0, 128); });
  };
  EXPECT_THAT(text(""), HasSubstr("there is no sequence in it"));
  EXPECT_THAT(text("\n\n"), HasSubstr("there is no sequence in it"));
  EXPECT_THAT(text("1,2\n1,2,3\n"), HasSubstr("line 2: it has 3 integers, and 2 are needed"));
  EXPECT_THAT(text("1,2\n1,-2\n"), HasSubstr("line 2: '-' is no part of an integer"));
  EXPECT_THAT(text("a,b\n1,2\n"), HasSubstr("line 1: 'a' is no part of an integer"));
  EXPECT_THAT(text("1,128\n"), HasSubstr("line 1: 128 is too large: integers go from 0 to 127"));
  EXPECT_THAT(text("1,99999999999999999999999999\n"), HasSubstr("is too large"));
  EXPECT_THAT(text(std::string("1,2\n1,\0\n", 8)), HasSubstr("line 2: byte 0x00"));
  EXPECT_THROW(read_tokens(folder.path("absent"), 0, 128), DataMissing);
}

TEST(Tokens, ALargeIntegerIsShownAsItIsWritten) {
  const Folder folder;
  const auto text = [&](const std::string& integer) {
    const std::string path = folder.write("t.csv", bytes("1,2\n1," + integer + "\n"));
    return refusal([&] { read_tokens(path, 0, 128); });
  };
  EXPECT_THAT(text("99999999999999999999999"), HasSubstr("line 2: 99999999999999999999999 is too large: integers go from 0 to 127"));
  EXPECT_THAT(text("000128"), HasSubstr("line 2: 000128 is too large"));
  EXPECT_THAT(text("12345678901234567890123456789012"), HasSubstr("line 2: 12345678901234567890123456789012 is too large"));
  EXPECT_THAT(text("123" + std::string(3'000'000, '0') + "987654321"),
              HasSubstr("line 2: 123000000000000000000000...87654321 (3000012 digits) is too large"));
  EXPECT_EQ(text("000127"), "accepted");
}

// A damaged stream holds wrong bytes long before its checksum shows it.
TEST(Tokens, DamageOfTheStreamIsToldBeforeThatOfTheText) {
  const Folder folder;
  std::string lines = "1,999\n";
  for (int line = 0; line < 400'000; ++line) lines += "1,22\n";
  const Bytes packed = gzip(bytes(lines));
  const auto text = [&](const Bytes& file) {
    const std::string path = folder.write("t.gz", file);
    return refusal([&] { read_tokens(path, 0, 128); });
  };
  EXPECT_THAT(text(packed), HasSubstr("line 1: 999 is too large"));
  EXPECT_THAT(text(with_wrong_checksum(packed)), AllOf(HasSubstr("t.gz: the gzip stream is damaged"), HasSubstr("incorrect data check")));
  EXPECT_THAT(text(without_end(packed)), HasSubstr("t.gz: truncated: the gzip stream ends early"));
  EXPECT_THAT(text(bytes("a,b\n")), HasSubstr("'a' is no part of an integer from 0 on (its name ends in .gz, but it is no gzip file)"));
}

// gzread() would take what is behind a damaged header of a member for the end of the file.
TEST(Tokens, OfSeveralMembersAreReadToTheEnd) {
  const Folder folder;
  const Bytes first = gzip(bytes("1,2\n")), second = gzip(bytes("3,4\n"));
  const auto join = [](Bytes one, const Bytes& other) {
    one.insert(one.end(), other.begin(), other.end());
    return one;
  };
  const auto read = [&](const Bytes& file) { return read_tokens(folder.write("t.gz", file), 0, 128).values.size(); };
  EXPECT_EQ(read(join(first, second)), 4u);
  EXPECT_EQ(read(join(join(first, second), Bytes(1000))), 4u);
  Bytes damaged = join(first, second);
  damaged[first.size()] ^= 1;
  const auto error = [&](const Bytes& file) { return refusal([&] { read(file); }); };
  EXPECT_THAT(error(damaged), HasSubstr("from byte " + std::to_string(first.size()) + " of " + std::to_string(damaged.size()) + " on it is no gzip stream"));
  EXPECT_THAT(error(join(first, Bytes(second.begin(), second.begin() + 1))), HasSubstr("gzip stream ends early"));
  EXPECT_THAT(error(join(join(first, {0}), second)), HasSubstr("it is no gzip stream"));
}

TEST(Tokens, ABombIsNamed) {
  const Folder folder;
  std::string lines;
  for (int line = 0; line < 18'000'000; ++line) lines += "1,2\n";
  const Bytes packed = gzip(bytes(lines));
  const std::string path = folder.write("bomb.gz", packed);
  EXPECT_THAT(refusal([&] { read_tokens(path, 0, 128); }),
              HasSubstr("bomb.gz: an archive bomb, or not the intended file: its " + std::to_string(packed.size()) +
                        " bytes grow to more than 67108864, the limit for a compressed file of this size"));
}

TEST(Tokens, MayBeginWithAByteOrderMark) {
  const Folder folder;
  EXPECT_THAT(read_tokens(folder.write("t.csv", bytes("\xEF\xBB\xBF" "1,2\n")), 0, 128).values, ElementsAre(1, 2));
  EXPECT_THAT(refusal([&] { read_tokens(folder.write("t.csv", bytes(std::string("\xFF\xFE" "1\0,\0" "2\0", 8))), 0, 128); }),
              HasSubstr("the text is in UTF-16: convert it to UTF-8, for example with `iconv -f UTF-16 -t UTF-8`"));
  EXPECT_THAT(refusal([&] { read_tokens(folder.write("t.csv", bytes("1,2\n\xEF\xBB\xBF" "1,2\n")), 0, 128); }), HasSubstr("line 2: byte 0xef"));
}

TEST(Tokens, SurviveMutations) {
  const int refused = refused_mutants(bytes("1,2,3\n4,5,6\n7,8,9\n10,11,12\n"), 3000, [](const std::string& path) {
    const TokenLines lines = read_tokens(path, 0, 128);
    ASSERT_EQ(lines.values.size(), lines.lines() * lines.length);
  });
  EXPECT_GT(refused, 500);
  EXPECT_LT(refused, 3000);
}

TEST(Text, SurvivesMutations) {
  const int refused = refused_mutants(bytes("b\xC3\xA4" "a\xE2\x82\xAC" "b\xF0\x9F\x99\x82 some more of it"), 3000, [](const std::string& path) {
    const TextTokens text = read_text_tokens(path);
    for (const std::int32_t value : text.values) ASSERT_LT(static_cast<std::size_t>(value), text.alphabet.size());
  });
  EXPECT_GT(refused, 500);
  EXPECT_LT(refused, 3000);
}

TEST(Text, ABombIsNamed) {
  const Folder folder;
  const std::string path = folder.write("bomb.gz", gzip({}, 70u << 20));
  EXPECT_THAT(refusal([&] { read_text_tokens(path); }), AllOf(HasSubstr("bomb.gz: an archive bomb"), HasSubstr("unpack it yourself")));
}

TEST(Text, DamageOfTheStreamIsToldBeforeThatOfTheText) {
  const Folder folder;
  const Bytes packed = gzip(bytes("\xFF" + std::string(2'000'000, 'x')));
  const auto text = [&](const Bytes& file) {
    const std::string path = folder.write("t.gz", file);
    return refusal([&] { read_text_tokens(path); });
  };
  EXPECT_THAT(text(packed), HasSubstr("byte 0 is not UTF-8"));
  EXPECT_THAT(text(with_wrong_checksum(packed)), HasSubstr("t.gz: the gzip stream is damaged"));
  EXPECT_THAT(text(without_end(packed)), HasSubstr("t.gz: truncated: the gzip stream ends early"));
}

TEST(Text, TheByteOrderMarkIsNoCharacter) {
  const Folder folder;
  const TextTokens text = read_text_tokens(folder.write("t.txt", bytes("\xEF\xBB\xBF" "ba")));
  EXPECT_THAT(text.alphabet, ElementsAre(U'a', U'b'));
  EXPECT_THAT(text.values, ElementsAre(1, 0));
  EXPECT_THAT(refusal([&] { read_text_tokens(folder.write("t.txt", bytes("\xEF\xBB\xBF"))); }), HasSubstr("the file is empty"));
  // Only at the start.
  EXPECT_EQ(read_text_tokens(folder.write("t.txt", bytes("a\xEF\xBB\xBF"))).values.size(), 2u);
}

TEST(Text, OtherEncodingsOfUnicodeAreNamed) {
  const Folder folder;
  const auto text = [&](const std::string& content) {
    const std::string path = folder.write("t.txt", bytes(content));
    return refusal([&] { read_text_tokens(path); });
  };
  const auto of = [](const std::string& name) { return HasSubstr("t.txt: the text is in " + name + ": convert it to UTF-8"); };
  EXPECT_THAT(text(std::string("\xFF\xFE" "a\0", 4)), of("UTF-16"));
  EXPECT_THAT(text(std::string("\xFE\xFF\0a", 4)), of("UTF-16"));
  EXPECT_THAT(text(std::string("a\0b\0", 4)), of("UTF-16"));
  EXPECT_THAT(text(std::string("\0a\0b", 4)), of("UTF-16"));
  EXPECT_THAT(text(std::string("\xFF\xFE\0\0a\0\0\0", 8)), of("UTF-32"));
  EXPECT_THAT(text(std::string("\0\0\xFE\xFF\0\0\0a", 8)), of("UTF-32"));
  EXPECT_EQ(text(std::string("ab\0\0", 4)), "accepted");
}

TEST(Text, CharactersAreNumberedByCodePoint) {
  const Folder folder;
  const TextTokens text = read_text_tokens(folder.write("t.txt", bytes("b\xC3\xA4" "a\xE2\x82\xAC" "b\xF0\x9F\x99\x82")));
  EXPECT_THAT(text.alphabet, ElementsAre(U'a', U'b', U'\u00e4', U'\u20ac', U'\U0001f642'));
  EXPECT_THAT(text.values, ElementsAre(1, 2, 0, 3, 1, 4));
  EXPECT_THAT(refusal([&] { read_text_tokens(folder.write("t.txt", bytes("abc\xff"))); }), HasSubstr("byte 3 is not UTF-8"));
  EXPECT_THAT(refusal([&] { read_text_tokens(folder.write("t.txt", {})); }), HasSubstr("the file is empty"));
}

TEST(Text, WindowsHaveTheNextCharactersAsTargets) {
  const Folder folder;
  DataConfig config;
  config.set = DataSource::text;
  config.path = folder.write("t.txt", bytes("abcabcabcabc"));
  config.length = 3;
  config.validation = "0.4";
  const Dataset set = load_dataset(config, {}, nullptr);
  // 12 characters, of which the last 4 are held back.
  EXPECT_THAT(inputs(set.train), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(set.train.targets, ElementsAre(1, 2, 0, 1, 2, 0));
  EXPECT_THAT(inputs(set.test), ElementsAre(2, 0, 1));
  EXPECT_EQ(set.spec.targets, 3u);
  config.target = TargetKind::last;
  EXPECT_THAT(load_dataset(config, {}, nullptr).train.targets, ElementsAre(0, 0));
  config.length = 64;
  EXPECT_THAT(refusal([&] { load_dataset(config, {}, nullptr); }), HasSubstr("a sample needs 65 characters"));
  config.length = 3;
  config.classes = 2;
  EXPECT_THAT(refusal([&] { load_dataset(config, {}, nullptr); }), HasSubstr("the text has 3 different characters"));
}

TEST(Text, AValidationFileHasTheAlphabetOfTheText) {
  const Folder folder;
  DataConfig config;
  config.set = DataSource::text;
  config.path = folder.write("t.txt", bytes("abcabc"));
  config.validation = folder.write("v.txt", bytes("cba"));
  config.length = 2;
  const Dataset set = load_dataset(config, {}, nullptr);
  EXPECT_THAT(inputs(set.test), ElementsAre(2, 1));
  folder.write("v.txt", bytes("cbx"));
  EXPECT_THAT(refusal([&] { load_dataset(config, {}, nullptr); }), HasSubstr("the character U+0078 is not in the training text"));
}

}  // namespace
}  // namespace mgcompare
