#include "data/npy.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "data/files.h"
#include "data/load.h"
#include "data/npy_files.h"
#include "data/refusal.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

DataConfig npy_set_in(const Folder& folder) {
  DataConfig config;
  config.set = DataSource::npy;
  config.path = folder.path();
  return config;
}

// 6 samples of 5 x 11 x 13 and their classes, below 7.
void write_odd_set(const Folder& folder) {
  std::vector<float> x(6 * 5 * 11 * 13);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.25f * static_cast<float>(i % 97) - 3;
  folder.write("x.npy", npy("<f4", {6, 5, 11, 13}, x));
  folder.write("y.npy", npy("<i8", {6}, std::vector<std::int64_t>{0, 6, 2, 3, 1, 5}));
  folder.write("x_test.npy", npy("<f4", {2, 5, 11, 13}, std::vector<float>(2 * 5 * 11 * 13, 1.5f)));
  folder.write("y_test.npy", npy("<i8", {2}, std::vector<std::int64_t>{4, 4}));
}

TEST(Npy, ReadsEveryTypeAndVersion) {
  const Folder folder;
  for (const int version : {1, 2, 3}) {
    const NpyArray bytes = read_npy(folder.write("b", npy("|u1", {2, 3}, std::vector<std::uint8_t>{1, 2, 3, 4, 5, 255}, version)));
    EXPECT_EQ(bytes.element, ElementType::uint8);
    EXPECT_EQ(bytes.shape, (std::vector<std::size_t>{2, 3}));
    EXPECT_EQ(bytes.integer(5), 255);
    const NpyArray floats = read_npy(folder.write("f", npy("<f4", {2}, std::vector<float>{-1.5f, 2.25f}, version)));
    EXPECT_EQ(floats.element, ElementType::float32);
    float second = 0;
    std::memcpy(&second, floats.values.data() + 4, 4);
    EXPECT_EQ(second, 2.25f);
    const NpyArray ints = read_npy(folder.write("i", npy("<i4", {1}, std::vector<std::int32_t>{-7}, version)));
    EXPECT_EQ(ints.integer(0), -7);
    const NpyArray longs = read_npy(folder.write("l", npy("<i8", {1}, std::vector<std::int64_t>{1ll << 40}, version)));
    EXPECT_EQ(longs.integer(0), 1ll << 40);
  }
}

struct BadArray {
  const char* name;
  std::function<Bytes()> make;
  const char* says;
};
void PrintTo(const BadArray& file, std::ostream* out) { *out << file.name; }

Bytes with_header(const std::string& header) { return npy_file(header, Bytes(24)); }
Bytes good() { return npy("<f4", {2, 3}, std::vector<float>(6)); }
Bytes resized(Bytes bytes, std::ptrdiff_t by) {
  bytes.resize(static_cast<std::size_t>(static_cast<std::ptrdiff_t>(bytes.size()) + by));
  return bytes;
}

class NpyRefuses : public testing::TestWithParam<BadArray> {};

TEST_P(NpyRefuses, WithTheFileAndThePlace) {
  const Folder folder;
  const std::string path = folder.write("bad.npy", GetParam().make());
  const std::string text = refusal([&] { read_npy(path); });
  EXPECT_THAT(text, testing::StartsWith(path + ": "));
  EXPECT_THAT(text, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Bad, NpyRefuses,
    testing::Values(
        BadArray{"Empty", [] { return Bytes(); }, "the file is empty"},
        BadArray{"Text", [] { return Bytes(100, 'x'); }, "does not begin with"},
        BadArray{"MagicOnly", [] { return resized(good(), 6 - static_cast<std::ptrdiff_t>(good().size())); }, "no .npy file"},
        BadArray{"HalfAHeader", [] { return resized(good(), 40 - static_cast<std::ptrdiff_t>(good().size())); }, "truncated at byte 40"},
        BadArray{"Version", [] { Bytes b = good(); b[6] = 4; return b; }, "version 4.0"},
        BadArray{"Truncated", [] { return resized(good(), -1); }, "truncated: the header promises (2, 3)"},
        BadArray{"Trailing", [] { return resized(good(), 3); }, "trailing bytes from byte"},
        BadArray{"Double", [] { return npy("<f8", {3}, std::vector<double>(3)); }, "x.astype('float32')"},
        BadArray{"BigEndian", [] { return npy(">f4", {6}, std::vector<float>(6)); }, "little-endian"},
        BadArray{"Objects", [] { return npy("|O", {3}, std::vector<double>(3)); }, "values of type '|O' cannot be read"},
        BadArray{"Records", [] { return with_header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,), }"); }, "records"},
        BadArray{"Fortran", [] { return with_header("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }"); }, "ascontiguousarray"},
        BadArray{"NoShape", [] { return with_header("{'descr': '<f4', 'fortran_order': False, }"); }, "not all of descr"},
        BadArray{"TwoShapes",
                 [] { return with_header("{'descr': '<f4', 'shape': (6,), 'shape': (6,), 'fortran_order': False}"); }, "'shape' twice"},
        BadArray{"Negative", [] { return with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 3), }"); }, "no list of counts"},
        BadArray{"Zero", [] { return with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }"); }, "has a 0"},
        BadArray{"ZeroBehindOthers", [] { return with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (400, 12, 0), }"); }, "has a 0"},
        BadArray{"Overflow",
                 [] { return with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4), }"); },
                 "truncated: the header promises"},
        BadArray{"HugeCount",
                 [] { return with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,), }"); },
                 "no list of counts"},
        BadArray{"Code", [] { return with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }; import os"); },
                 "text behind the closing brace"},
        BadArray{"HeaderSize", [] { Bytes b = npy("<f4", {6}, std::vector<float>(6), 2); b[11] = 0x7f; return b; }, "states a size"}),
    [](const testing::TestParamInfo<BadArray>& info) { return info.param.name; });

TEST(Npy, RefusesWhatIsNoFile) {
  const Folder folder;
  EXPECT_THROW(read_npy(folder.path("absent")), DataMissing);
  EXPECT_THAT(refusal([&] { read_npy(folder.path()); }), HasSubstr("not a regular file, but a folder: name the file in it"));
  ASSERT_EQ(mkfifo(folder.path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(refusal([&] { read_npy(folder.path("pipe")); }), HasSubstr("not a regular file"));
}

TEST(Npy, SurvivesMutations) {
  const int refused = refused_mutants(npy("<f4", {4, 5}, std::vector<float>(20)), 2000, [](const std::string& path) {
    const NpyArray array = read_npy(path);
    ASSERT_EQ(array.values.size(), array.count() * size_of(array.element));
  });
  EXPECT_GT(refused, 500);
  EXPECT_LT(refused, 2000);
}

// A file with holes, which takes no space on the disk.
TEST(Npy, MoreThanTheMemoryIsRefused) {
  const Folder folder;
  const Bytes header = npy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 512, 512), }", {});
  const std::string path = folder.write("x.npy", header);
  std::error_code failure;
  std::filesystem::resize_file(path, header.size() + std::uintmax_t{4} * 1000000 * 512 * 512, failure);
  if (failure) GTEST_SKIP() << "no file of a terabyte here: " << failure.message();
  EXPECT_THAT(refusal([&] { read_npy(path); }), testing::ContainsRegex("x.npy: its samples need 976.6 GiB of memory, and [0-9.]+ GiB are free"));
}

TEST(Npy, FilesOverTheOldLimitAreRead) {
  const Folder folder;
  const Bytes header = npy_file("{'descr': '|u1', 'fortran_order': False, 'shape': (100, 1000, 1000), }", {});
  const std::string path = folder.write("x.npy", header);
  std::filesystem::resize_file(path, header.size() + 100'000'000);
  EXPECT_EQ(read_npy(path).values.size(), 100'000'000u);
}

TEST(NpySet, HasTheFormOfItsArrays) {
  const Folder folder;
  write_odd_set(folder);
  const DataSummary summary = describe_dataset(npy_set_in(folder), {});
  EXPECT_EQ(summary.spec.shape, (Shape{5, 11, 13}));
  EXPECT_EQ(summary.spec.element, ElementType::float32);
  EXPECT_EQ(summary.spec.classes, 7u);
  EXPECT_EQ(summary.train_samples, 6u);
  EXPECT_EQ(summary.test_samples, 2u);
  const Dataset set = load_dataset(npy_set_in(folder), {}, nullptr);
  EXPECT_EQ(set.spec.shape, summary.spec.shape);
  EXPECT_EQ(set.spec.classes, 7u);
  EXPECT_EQ(set.train.targets, (std::vector<std::uint32_t>{0, 6, 2, 3, 1, 5}));
  EXPECT_EQ(set.test.targets, (std::vector<std::uint32_t>{4, 4}));
  EXPECT_EQ(set.train.values.size(), 6u * 5 * 11 * 13 * 4);
}

TEST(NpySet, TestSamplesThatAreTheTrainingSamplesAreTold) {
  const Folder folder;
  write_odd_set(folder);
  EXPECT_EQ(load_dataset(npy_set_in(folder), {}, nullptr).remark, "");
  for (const char* name : {"x", "y"})
    std::filesystem::copy_file(folder.path(std::string(name) + ".npy"), folder.path(std::string(name) + "_test.npy"),
                               std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(load_dataset(npy_set_in(folder), {}, nullptr).remark, HasSubstr("The test samples of npy are its training samples"));
}

TEST(NpySet, WithoutTestFilesNeedsValidationSamples) {
  const Folder folder;
  write_odd_set(folder);
  std::filesystem::remove(folder.path("x_test.npy"));
  DataConfig part = npy_set_in(folder);
  part.fallback = DataFallback::synthetic;
  part.shape = {3};
  part.classes = 6;
  part.samples = 100;
  EXPECT_THAT(refusal([&] { load_dataset(part, {}, nullptr); }), HasSubstr("x_test.npy is missing, but"));
  std::filesystem::remove(folder.path("y_test.npy"));
  DataConfig config = npy_set_in(folder);
  EXPECT_THAT(refusal([&] { load_dataset(config, {}, nullptr); }), HasSubstr("data.validation_samples"));
  config.validation_samples = 2;
  const Dataset set = load_dataset(config, {}, nullptr);
  EXPECT_EQ(set.train.samples, 4u);
  EXPECT_EQ(set.test.targets, (std::vector<std::uint32_t>{1, 5}));
}

TEST(NpySet, MissingFilesAreNamedWithTheRemedy) {
  const Folder folder;
  EXPECT_THAT(refusal([&] { describe_dataset(npy_set_in(folder), {}); }),
              AllOf(HasSubstr("no x.npy in " + folder.path()), HasSubstr("docs/your-own-model.md"),
                    HasSubstr("allow drawn samples with `fallback: synthetic`")));
}

TEST(NpySet, IsAFolder) {
  const Folder folder;
  write_odd_set(folder);
  DataConfig config = npy_set_in(folder);
  config.path = folder.path("x.npy");
  EXPECT_THAT(refusal([&] { describe_dataset(config, {}); }), AllOf(HasSubstr("x.npy: this is a file"), HasSubstr("write `path: /")));
  config.set = DataSource::idx;
  EXPECT_THAT(refusal([&] { describe_dataset(config, {}); }), HasSubstr("x.npy: this is a file"));
}

// Rounding would ruin the targets of a regression.
TEST(NpySet, TargetsThatAreNoIntegersAreToldWhatTheyAre) {
  const Folder folder;
  write_odd_set(folder);
  const auto text = [&] { return refusal([&] { describe_dataset(npy_set_in(folder), {}); }); };
  const auto regression = AllOf(HasSubstr("y.npy: networks are trained on classes only"), HasSubstr("np.digitize"), Not(HasSubstr("astype")));
  folder.write("y.npy", npy("<f4", {6}, std::vector<float>{0, 1, 0.25f, 0, 1, 2}));
  EXPECT_THAT(text(), AllOf(regression, HasSubstr("value 2 of (6) is 0.25")));
  folder.write("y.npy", npy("<f8", {6, 2}, std::vector<double>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -3.5}));
  EXPECT_THAT(text(), AllOf(regression, HasSubstr("value 11 of (6, 2) is -3.5")));
  folder.write("y.npy", npy("<U1", {6}, std::vector<std::uint32_t>(6, 'a')));
  EXPECT_THAT(text(), AllOf(HasSubstr("its values are text (type '<U1')"), HasSubstr("np.unique(y, return_inverse=True)[1]")));
  folder.write("y.npy", npy("|O", {6}, std::vector<double>(6)));
  EXPECT_THAT(text(), AllOf(HasSubstr("its values are objects"), HasSubstr("np.unique(y, return_inverse=True)[1]")));
  folder.write("y.npy", npy("<i2", {6}, std::vector<std::int16_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_THAT(text(), HasSubstr("save y.astype('int64')"));
}

TEST(NpySet, RefusesWhatDoesNotBelongTogether) {
  const Folder folder;
  const auto text = [&] { return refusal([&] { load_dataset(npy_set_in(folder), {}, nullptr); }); };
  write_odd_set(folder);
  folder.write("y.npy", npy("<i8", {5}, std::vector<std::int64_t>(5)));
  EXPECT_THAT(text(), AllOf(HasSubstr("holds 6 samples"), HasSubstr("holds 5 targets")));
  folder.write("y.npy", npy("<f4", {6}, std::vector<float>(6)));
  EXPECT_THAT(text(), HasSubstr("y.astype('int64')"));
  folder.write("y.npy", npy("<i8", {6}, std::vector<std::int64_t>{0, 0, -1, 0, 0, 0}));
  EXPECT_THAT(text(), AllOf(HasSubstr("target -1 of sample 2: labels count from 0"), HasSubstr("np.unique(y, return_inverse=True)[1]")));
  folder.write("y.npy", npy("<i8", {6}, std::vector<std::int64_t>{0, 0, 0, 100'000'000, 0, 0}));
  EXPECT_THAT(text(), AllOf(HasSubstr("target 100000000 of sample 3: labels are the numbers of classes, from 0 to 16,777,215"), HasSubstr("np.unique(")));
  folder.write("y.npy", npy("<i8", {6}, std::vector<std::int64_t>(6, 3)));
  EXPECT_THAT(text(), HasSubstr("y.npy: all 6 targets are 3: with one class there is nothing to learn"));
  write_odd_set(folder);
  folder.write("y_test.npy", npy("<i8", {2}, std::vector<std::int64_t>{4, 7}));
  EXPECT_THAT(text(), AllOf(HasSubstr("y_test.npy: target 7 of sample 1: the largest of " + folder.path("y.npy") + " is 6"), HasSubstr("`data.classes: 8`")));
  DataConfig unseen = npy_set_in(folder);
  unseen.classes = 8;
  EXPECT_EQ(load_dataset(unseen, {}, nullptr).spec.classes, 8u);
  write_odd_set(folder);
  folder.write("x_test.npy", npy("|u1", {2, 5, 11, 13}, Bytes(2 * 5 * 11 * 13)));
  EXPECT_THAT(text(), AllOf(HasSubstr("x.npy has values of type float32, but"), HasSubstr("x_test.npy has values of type uint8"), Not(HasSubstr("(5, 11, 13)")),
                            Not(HasSubstr("target"))));
  write_odd_set(folder);
  folder.write("x_test.npy", npy("<f4", {2, 5, 11, 12}, std::vector<float>(2 * 5 * 11 * 12)));
  EXPECT_THAT(text(), AllOf(HasSubstr("(5, 11, 13)"), HasSubstr("(5, 11, 12)")));
  write_odd_set(folder);
  std::vector<float> x(6 * 5 * 11 * 13);
  x[3 * 5 * 11 * 13 + 2] = NAN;
  folder.write("x.npy", npy("<f4", {6, 5, 11, 13}, x));
  EXPECT_THAT(text(), HasSubstr("x.npy: sample 3 has the value nan at place 2; 1 of the first 6 samples has such values: replace them"));
  // A plan names it too.
  EXPECT_THAT([&] { describe_dataset(npy_set_in(folder), {}); }, testing::ThrowsMessage<DataError>(HasSubstr("x.npy: sample 3 has the value nan")));
  for (const std::int64_t extreme : {INT64_MIN, INT64_MAX, std::int64_t{-16777217}}) {
    folder.write("x.npy", npy("<i8", {6, 2}, std::vector<std::int64_t>{0, 0, 0, 0, extreme, 0, 0, 0, 0, 0, 0, 0}));
    folder.write("x_test.npy", npy("<i8", {2, 2}, std::vector<std::int64_t>(4)));
    EXPECT_THAT(text(), HasSubstr(fmt::format("x.npy: sample 2 has the value {}: integers from -16777216 to 16777216", extreme)));
  }
  write_odd_set(folder);
  DataConfig config = npy_set_in(folder);
  config.classes = 5;
  EXPECT_THAT(refusal([&] { load_dataset(config, {}, nullptr); }), HasSubstr("target 6 of sample 1: classes go from 0 to 4"));
}

TEST(NpySet, OneHotLabelsAreToldHowToBecomeIntegers) {
  const Folder folder;
  write_odd_set(folder);
  const auto text = [&] { return refusal([&] { describe_dataset(npy_set_in(folder), {}); }); };
  const std::vector<std::int64_t> labels = {0, 6, 2, 3, 1, 5};
  std::vector<std::int64_t> whole(6 * 7);
  for (std::size_t i = 0; i < 6; ++i) whole[i * 7 + static_cast<std::size_t>(labels[i])] = 1;
  const auto remedy = AllOf(HasSubstr("y.npy: "), HasSubstr("(6, 7)"), HasSubstr("integers of shape (6)"), HasSubstr("y.argmax(axis=1)"));
  folder.write("y.npy", npy("<i8", {6, 7}, whole));
  EXPECT_THAT(text(), remedy);
  folder.write("y.npy", npy("|u1", {6, 7}, std::vector<std::uint8_t>(whole.begin(), whole.end())));
  EXPECT_THAT(text(), remedy);
  const auto other_type = AllOf(HasSubstr("y.npy: "), HasSubstr("integers of shape (samples)"), HasSubstr("y.argmax(axis=1)"), Not(HasSubstr("x.astype")));
  folder.write("y.npy", npy("<f4", {6, 7}, std::vector<float>(whole.begin(), whole.end())));
  EXPECT_THAT(text(), AllOf(other_type, HasSubstr("(6, 7)")));
  folder.write("y.npy", npy("<f8", {6, 7}, std::vector<double>(whole.begin(), whole.end())));
  EXPECT_THAT(text(), other_type);
  folder.write("y.npy", npy("<f8", {6}, std::vector<double>(6)));
  EXPECT_THAT(text(), AllOf(HasSubstr("y.astype('int64')"), Not(HasSubstr("x.astype"))));
  // One of two classes at each position, of which one is 1, is no one-hot label.
  folder.write("y.npy", npy("<i8", {6, 5}, std::vector<std::int64_t>{1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0}));
  folder.write("y_test.npy", npy("<i8", {2, 5}, std::vector<std::int64_t>(10)));
  EXPECT_EQ(text(), "accepted");
}

TEST(NpySet, TokensAreKnownBeforeTheyAreLoaded) {
  const Folder folder;
  folder.write("x.npy", npy("<i8", {3, 2}, std::vector<std::int64_t>{0, 4, 9, 1, 2, 9}));
  folder.write("y.npy", npy("<i8", {3}, std::vector<std::int64_t>{0, 1, 0}));
  SampleSpec spec = describe_dataset(npy_set_in(folder), {}).spec;
  EXPECT_EQ(spec.tokens, 10u);
  EXPECT_EQ(spec.largest.value, 9);
  EXPECT_EQ(spec.largest.place, "sample 1 of " + folder.path("x.npy"));
  folder.write("x_test.npy", npy("<i8", {1, 2}, std::vector<std::int64_t>{12, -3}));
  folder.write("y_test.npy", npy("<i8", {1}, std::vector<std::int64_t>{0}));
  spec = describe_dataset(npy_set_in(folder), {}).spec;
  EXPECT_EQ(spec.tokens, 0u);
  EXPECT_EQ(spec.largest.value, 12);
  EXPECT_EQ(spec.smallest.value, -3);
  EXPECT_EQ(spec.smallest.place, "sample 0 of " + folder.path("x_test.npy"));
}

TEST(NpySet, TargetsOfEveryPosition) {
  const Folder folder;
  folder.write("x.npy", npy("<i4", {4, 3}, std::vector<std::int32_t>{0, 1, 2, 1, 2, 0, 2, 0, 1, 0, 0, 4}));
  folder.write("y.npy", npy("<i4", {4, 3}, std::vector<std::int32_t>{1, 2, 0, 2, 0, 1, 0, 1, 2, 0, 0, 0}));
  DataConfig config = npy_set_in(folder);
  config.validation_samples = 1;
  const Dataset set = load_dataset(config, {}, nullptr);
  EXPECT_EQ(set.spec.targets, 3u);
  EXPECT_EQ(set.spec.tokens, 5u);
  EXPECT_EQ(set.spec.classes, 3u);
  EXPECT_EQ(set.test.targets, (std::vector<std::uint32_t>{0, 0, 0}));
}

}  // namespace
}  // namespace mgcompare
