#include "data/idx.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <functional>

#include "data/files.h"
#include "data/refusal.h"
#include "mgcompare/random.h"

namespace mgcompare {
namespace {

using testing::HasSubstr;

long peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(Idx, ReadsPlainAndPackedAlike) {
  const Folder folder;
  Bytes bytes = images(5);
  for (std::size_t i = 16; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 37);
  const IdxArray plain = read_idx(folder.write("plain", bytes), 3);
  const IdxArray packed = read_idx(folder.write("packed.gz", gzip(bytes)), 3);
  EXPECT_EQ(plain.shape, (std::vector<std::size_t>{5, 4, 3}));
  EXPECT_EQ(plain.bytes, Bytes(bytes.begin() + 16, bytes.end()));
  EXPECT_EQ(packed.bytes, plain.bytes);
  EXPECT_EQ(packed.sha256, plain.sha256);
}

TEST(Idx, Sha256IsThatOfTheWholeUnpackedFile) {
  const Folder folder;
  // sha256sum of 00 00 08 01 00 00 00 03 07 07 07
  EXPECT_EQ(read_idx(folder.write("labels", labels(3)), 1).sha256,
            "eeabc225d8ce850d8f6538105e4fbaadfdca45aea509f3ed3432846fcdd4b15a");
}

TEST(Idx, PairsImagesWithLabels) {
  const Folder folder;
  const LabelledSplit read = read_labelled({folder.write("i.gz", gzip(images(5))), folder.write("l", labels(5))}, 10);
  EXPECT_EQ(read.split.samples, 5u);
  EXPECT_EQ(read.shape, (Shape{1, 4, 3}));
  EXPECT_EQ(read.split.targets, std::vector<std::uint32_t>(5, 7));
  EXPECT_EQ(read.split.values.size(), 60u);
}

struct BadFile {
  const char* name;
  std::function<Bytes()> make;
  int dimensions;
  const char* says;
};
void PrintTo(const BadFile& file, std::ostream* out) { *out << file.name; }

Bytes cut(Bytes bytes, std::size_t size) {
  bytes.resize(size);
  return bytes;
}
Bytes longer(Bytes bytes, std::size_t more) {
  bytes.resize(bytes.size() + more);
  return bytes;
}
Bytes flip(Bytes bytes, std::size_t from_end) {
  bytes[bytes.size() - from_end] ^= 0x10;
  return bytes;
}

class IdxRefuses : public testing::TestWithParam<BadFile> {};

TEST_P(IdxRefuses, WithTheFileAndThePlace) {
  const Folder folder;
  const std::string path = folder.write("bad.gz", GetParam().make());
  const std::string text = refusal([&] { read_idx(path, GetParam().dimensions); });
  EXPECT_THAT(text, testing::StartsWith(path + ": "));
  EXPECT_THAT(text, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Bad, IdxRefuses,
    testing::Values(
        BadFile{"Empty", [] { return Bytes(); }, 3, "truncated at byte 0: the header alone has 16 bytes"},
        BadFile{"TwoBytes",
                [] {
                  return Bytes{0, 0};
                },
                3, "truncated at byte 2"},
        BadFile{"HalfAHeader", [] { return cut(images(2), 9); }, 3, "truncated at byte 9"},
        BadFile{"Text", [] { return Bytes(100, 'x'); }, 3, "wrong magic 0x78787878 at byte 0"},
        BadFile{"LabelsForImages", [] { return labels(20); }, 3, "wrong magic 0x00000801 at byte 0"},
        BadFile{"ImagesForLabels", [] { return images(2); }, 1, "begins with 0x00000801"},
        BadFile{"Floats",
                [] {
                  return idx(0xd03, {2, 4, 3}, 96);
                },
                3, "wrong magic 0x00000d03"},
        BadFile{"NoImages",
                [] {
                  return idx(0x803, {0, 4, 3}, 0);
                },
                3, "count 0 at byte 4"},
        BadFile{"NoColumns",
                [] {
                  return idx(0x803, {2, 4, 0}, 0);
                },
                3, "count 0 at byte 12"},
        BadFile{"FourGigaImages",
                [] {
                  return idx(0x803, {0xffffffff, 28, 28}, 784);
                },
                3, "wrong counts (4294967295 x 28 x 28)"},
        BadFile{"ProductOverflows",
                [] {
                  return idx(0x803, {0xffffffff, 0xffffffff, 0xffffffff}, 9);
                },
                3, "wrong counts"},
        BadFile{"MoreThanTheFile",
                [] {
                  return idx(0x803, {60000, 28, 28}, 784);
                },
                3, "wrong counts"},
        BadFile{"Truncated",
                [] {
                  return cut(idx(0x803, {2, 4, 3}, 24), 30);
                },
                3, "truncated at byte 30: the header promises 24 values"},
        BadFile{"OneByteShort", [] { return cut(images(3), 51); }, 3, "truncated at byte 51"},
        BadFile{"OneByteLong", [] { return longer(images(3), 1); }, 3, "trailing bytes from byte 52 on"},
        BadFile{"PackedTruncated", [] { return gzip(cut(images(3), 40)); }, 3, "truncated at byte 40"},
        BadFile{"PackedTrailing", [] { return gzip(longer(images(3), 9)); }, 3, "trailing bytes from byte 52 on"},
        BadFile{"GzipCut",
                [] {
                  Bytes b = gzip(images(900));
                  return cut(b, b.size() - 12);
                },
                3, "gzip stream ends early"},
        BadFile{"GzipChecksum", [] { return flip(gzip(images(3)), 6); }, 3,
                "gzip stream is damaged somewhere before its end, after 52 unpacked bytes or more (incorrect data check)"},
        BadFile{"GzipTrailing",
                [] {
                  Bytes b = gzip(images(3));
                  b.push_back('x');
                  return b;
                },
                3, "damaged, or something was appended: from byte "},
        BadFile{"GzipLength", [] { return flip(gzip(images(3)), 2); }, 3, "gzip stream is damaged"},
        BadFile{"GzipChecksumOfAnotherHeader", [] { return with_wrong_checksum(gzip(idx(0xd03, {2, 4, 3}, 2'000'000))); }, 3,
                "gzip stream is damaged"},
        BadFile{"GzipBody",
                [] { return Bytes{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}; }, 3,
                "damaged after unpacked byte 0"}),
    [](const testing::TestParamInfo<BadFile>& info) { return info.param.name; });

TEST(Idx, RefusesWhatIsNoFile) {
  const Folder folder;
  EXPECT_THAT(refusal([&] { read_idx(folder.path("absent"), 3); }), HasSubstr("No such file"));
  EXPECT_THAT(refusal([&] { read_idx(folder.path(), 3); }), HasSubstr("not a regular file"));
  ASSERT_EQ(mkfifo(folder.path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(refusal([&] { read_idx(folder.path("pipe"), 3); }), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal([&] { read_idx("/dev/zero", 3); }), HasSubstr("not a regular file"));
}

TEST(Idx, RefusesPairsThatDoNotMatch) {
  const Folder folder;
  const std::string five = folder.write("i", images(5));
  EXPECT_THAT(refusal([&] {
                read_labelled({five, folder.write("l4", labels(4))}, 10);
              }),
              testing::AllOf(HasSubstr("holds 5 samples"), HasSubstr("holds 4 labels")));
  Bytes wrong = labels(5);
  wrong[8 + 3] = 12;
  EXPECT_THAT(refusal([&] {
                read_labelled({five, folder.write("l12", wrong)}, 10);
              }),
              HasSubstr("label 12 at byte 11: labels go from 0 to 9"));
}

TEST(Idx, ABombCostsNoMemory) {
  const Folder folder;
  const std::string trailing = folder.write("trailing.gz", gzip(images(3), 64u << 20));
  const std::string promised = folder.write("promised.gz", gzip(idx(0x803, {60000, 100, 100}, 0), 64u << 20));
  const std::string lying = folder.write("lying.gz", gzip(idx(0x803, {1000, 200, 200}, 300)));
  const long before = peak_kilobytes();
  EXPECT_THAT(refusal([&] { read_idx(trailing, 3); }), HasSubstr("trailing bytes from byte 52 on"));
  EXPECT_THAT(refusal([&] { read_idx(promised, 3); }), HasSubstr("wrong counts"));
  EXPECT_THAT(refusal([&] { read_idx(lying, 3); }), HasSubstr("wrong counts"));
  EXPECT_LT(peak_kilobytes() - before, 16 << 10);
}

// For any file content, reading ends in an array that fits its header or in a DataError.
TEST(Idx, SurvivesMutations) {
  const Folder folder;
  const Bytes plain = images(40), packed = gzip(plain);
  int refused = 0;
  for (std::uint64_t round = 0; round < 3000; ++round) {
    const Random random(round, 7);
    Bytes bytes = round % 2 == 0 ? plain : packed;
    const std::uint64_t changes = 1 + random.below(0, 4);
    for (std::uint64_t change = 0; change < changes; ++change) {
      // Damage in the header and at the end has the largest effect.
      const std::uint64_t zone = random.below(10 * change + 1, 3);
      const std::uint64_t range = zone == 0 ? std::min<std::uint64_t>(bytes.size(), 24) : bytes.size();
      if (range == 0) break;
      bytes[random.below(10 * change + 2, range)] = static_cast<std::uint8_t>(random.word(10 * change + 3));
      if (random.below(10 * change + 4, 8) == 0) bytes.resize(random.below(10 * change + 5, bytes.size() + 9));
    }
    const std::string path = folder.write("mutant", bytes);
    try {
      const IdxArray array = read_idx(path, 3);
      ASSERT_EQ(array.bytes.size(), array.shape[0] * array.shape[1] * array.shape[2]);
    } catch (const DataError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1500);
  EXPECT_LT(refused, 3000);
}

}  // namespace
}  // namespace mgcompare
