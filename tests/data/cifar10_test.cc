#include "data/cifar10.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "data/files.h"
#include "data/load.h"
#include "data/refusal.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

// Records of one label each, whose pixels are that label.
Bytes records(const std::vector<std::uint8_t>& labels) {
  Bytes bytes;
  for (const std::uint8_t label : labels) bytes.insert(bytes.end(), 3073, label);
  return bytes;
}

void write_small_set(const Folder& folder) {
  for (std::uint8_t i = 1; i <= 5; ++i) {
    const std::string name = "data_batch_" + std::to_string(i) + ".bin";
    if (i % 2 == 0) folder.write(name + ".gz", gzip(records({i, 0})));
    else folder.write(name, records({i, 0}));
  }
  folder.write("test_batch.bin", records({7, 8, 9}));
}

DataConfig cifar10() {
  DataConfig config;
  config.set = DataSource::cifar10;
  return config;
}

TEST(Cifar10, ReadsPlainAndPackedFilesInOrder) {
  const Folder folder;
  write_small_set(folder);
  const Dataset set = read_cifar10(folder.path());
  EXPECT_EQ(set.spec.shape, (Shape{3, 32, 32}));
  EXPECT_EQ(set.train.targets, (std::vector<std::uint32_t>{1, 0, 2, 0, 3, 0, 4, 0, 5, 0}));
  EXPECT_EQ(set.test.targets, (std::vector<std::uint32_t>{7, 8, 9}));
  EXPECT_EQ(set.train.values.size(), 10u * 3072);
  EXPECT_EQ(set.train.values[2 * 3072 + 5], 2);
}

TEST(Cifar10, OtherChecksumsAreUsedAndSaid) {
  const Folder folder;
  write_small_set(folder);
  const Dataset set = read_cifar10(folder.path());
  EXPECT_THAT(set.origin,
              AllOf(HasSubstr("not the published files"), HasSubstr("data_batch_1.bin: checksum"), HasSubstr("test_batch.bin: checksum")));
  EXPECT_THAT(set.remark, HasSubstr("6 of the 6 files of CIFAR-10 are not the published ones"));
}

TEST(Cifar10, RefusesAPlainFileBesideAPackedOneWithOtherBytes) {
  const Folder folder;
  write_small_set(folder);
  folder.write("data_batch_2.bin", records({2, 0}));
  EXPECT_EQ(refusal([&] { read_cifar10(folder.path()); }), "accepted");
  folder.write("data_batch_2.bin", records({9, 9}));
  EXPECT_THAT(refusal([&] { read_cifar10(folder.path()); }),
              AllOf(HasSubstr("data_batch_2.bin.gz: may be the file, and so may"), HasSubstr("leave one of them there")));
}

TEST(Cifar10, IsDescribedAsItIsLoaded) {
  const Folder folder;
  write_small_set(folder);
  DataConfig config = cifar10();
  config.path = folder.path();
  const DataSummary summary = describe_dataset(config, {});
  EXPECT_EQ(summary.train_samples, 10u);
  EXPECT_EQ(summary.test_samples, 3u);
  EXPECT_EQ(load_dataset(config, {}, nullptr).training_set, 10u);
  // Not at hand: the published numbers, without a download.
  EXPECT_EQ(describe_dataset(cifar10(), {}).train_samples, 50'000u);
}

TEST(Cifar10, RefusesOwnFilesOfOneClass) {
  const Folder folder;
  write_small_set(folder);
  for (int i = 1; i <= 5; ++i) {
    std::filesystem::remove(folder.path("data_batch_" + std::to_string(i) + ".bin.gz"));
    folder.write("data_batch_" + std::to_string(i) + ".bin", records({3, 3}));
  }
  DataConfig config = cifar10();
  config.path = folder.path();
  const auto one_class = HasSubstr("all 10 targets are 3: with one class there is nothing to learn");
  EXPECT_THAT(refusal([&] { static_cast<void>(describe_dataset(config, {})); }), one_class);
  EXPECT_THAT(refusal([&] { load_dataset(config, {}, nullptr); }), one_class);
}

TEST(Cifar10, RefusesDamage) {
  const Folder folder;
  const auto text = [&](const Bytes& bytes) {
    const std::string path = folder.write("file", bytes);
    return refusal([&] { read_cifar10_file(path); });
  };
  EXPECT_THAT(text({}), HasSubstr("there is nothing in it"));
  Bytes cut = records({1, 2});
  cut.pop_back();
  EXPECT_THAT(text(cut), HasSubstr("truncated at byte 6145"));
  Bytes wrong = records({1, 2});
  wrong[3073] = 10;
  EXPECT_THAT(text(wrong), HasSubstr("label 10 at byte 3073: labels go from 0 to 9"));
  Bytes packed = gzip(records({1, 2, 3}));
  packed.resize(packed.size() - 9);
  EXPECT_THAT(text(packed), HasSubstr("gzip stream ends early"));
}

TEST(Cifar10, DamageOfTheStreamIsToldBeforeThatOfARecord) {
  const Folder folder;
  Bytes all = records(std::vector<std::uint8_t>(500, 1));
  all[0] = 99;
  const auto text = [&](const Bytes& bytes) {
    const std::string path = folder.write("file.gz", bytes);
    return refusal([&] { read_cifar10_file(path); });
  };
  EXPECT_THAT(text(gzip(all)), HasSubstr("label 99 at byte 0"));
  EXPECT_THAT(text(with_wrong_checksum(gzip(all))), HasSubstr("file.gz: the gzip stream is damaged"));
  EXPECT_THAT(text(without_end(gzip(all))), HasSubstr("gzip stream ends early"));
}

TEST(Cifar10, AnEmptyFileIsNamedBeforeAnythingIsLoaded) {
  const Folder folder;
  write_small_set(folder);
  DataConfig config = cifar10();
  config.path = folder.path();
  const auto text = [&](const Bytes& bytes) {
    folder.write("test_batch.bin", bytes);
    return refusal([&] { describe_dataset(config, {}); });
  };
  EXPECT_THAT(text({}), HasSubstr("test_batch.bin: there is nothing in it: a file of CIFAR-10 has 3073 bytes for each sample, and the "
                                  "published one 30730000 bytes"));
  EXPECT_THAT(text(Bytes(3000)), HasSubstr("test_batch.bin: truncated at byte 3000: a record of CIFAR-10 has 3073 bytes"));
  EXPECT_EQ(text(records({1})), "accepted");
}

TEST(Cifar10, RefusesMoreRecordsThanItsFilesHave) {
  const Folder folder;
  const std::string path = folder.write("file.gz", gzip({}, 10'000 * 3073));
  EXPECT_EQ(read_cifar10_file(path).labels.size(), 10'000u);
  for (const std::size_t more : {std::size_t{1}, std::size_t{3073}, std::size_t{1} << 20}) {
    folder.write("file.gz", gzip({}, 10'000 * 3073 + more));
    EXPECT_THAT(refusal([&] { read_cifar10_file(path); }), AnyOf(HasSubstr("trailing bytes from byte 30730000 on"), HasSubstr("truncated at byte 30730001")));
  }
}

TEST(Cifar10, SurvivesMutations) {
  for (const Bytes& whole : {records({3, 1}), gzip(records({3, 1}))}) {
    const int refused = refused_mutants(whole, 1000, [](const std::string& path) {
      const Cifar10Records read = read_cifar10_file(path);
      ASSERT_EQ(read.images.size(), read.labels.size() * 3072);
    });
    EXPECT_GT(refused, 100);
    EXPECT_LT(refused, 1000);
  }
}

TEST(Cifar10, MissingFilesAreNamed) {
  const Folder folder;
  write_small_set(folder);
  std::filesystem::remove(folder.path("data_batch_4.bin.gz"));
  DataConfig config = cifar10();
  config.path = folder.path();
  EXPECT_THAT(refusal([&] { load_dataset(config, {}, nullptr); }), AllOf(HasSubstr("data_batch_4.bin (or data_batch_4.bin.gz)"), HasSubstr("`data.path`")));
}

TEST(Cifar10, FallsBackToSamplesOfItsForm) {
  const Folder folder;
  DataPlaces places;
  places.cache_folder = folder.path("cache");
  DataConfig config = cifar10();
  EXPECT_THAT(refusal([&] { load_dataset(config, places, nullptr); }), HasSubstr("`--set data.fallback=synthetic`"));
  config.fallback = DataFallback::synthetic;
  config.train_samples = 20;
  const Dataset set = load_dataset(config, places, nullptr);
  EXPECT_EQ(set.name, "synthetic");
  EXPECT_THAT(set.origin, HasSubstr("because cifar10 is not available"));
  EXPECT_THAT(set.remark, HasSubstr("cifar10 is not available, so the samples are synthetic"));
  EXPECT_EQ(set.spec.shape, (Shape{3, 32, 32}));
  EXPECT_EQ(set.training_set, 50'000u);
}

TEST(Cifar10, UnpacksTheArchive) {
  const Folder folder;
  std::filesystem::create_directories(folder.path("cifar-10-batches-bin"));
  std::filesystem::create_directories(folder.path("out"));
  const Folder* const root = &folder;
  const Bytes readme(700, '.');
  root->write("cifar-10-batches-bin/readme.html", readme);
  for (std::uint8_t i = 1; i <= 5; ++i) root->write("cifar-10-batches-bin/data_batch_" + std::to_string(i) + ".bin", records({i, i}));
  root->write("cifar-10-batches-bin/test_batch.bin", records({7}));
  const std::string pack = "cd '" + folder.path() + "' && tar --format=ustar -czf ";
  if (std::system((pack + "all.tar.gz cifar-10-batches-bin").c_str()) != 0) GTEST_SKIP() << "there is no tar here";
  unpack_cifar10(folder.path("all.tar.gz"), folder.path("out"));
  EXPECT_EQ(read_cifar10(folder.path("out")).train.targets, (std::vector<std::uint32_t>{1, 1, 2, 2, 3, 3, 4, 4, 5, 5}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path("out")), {}), 6);
  ASSERT_EQ(std::system((pack + "few.tar.gz cifar-10-batches-bin/readme.html cifar-10-batches-bin/data_batch_1.bin").c_str()), 0);
  EXPECT_THAT(refusal([&] { unpack_cifar10(folder.path("few.tar.gz"), folder.path("out")); }), HasSubstr("data_batch_2.bin is missing"));
  std::filesystem::resize_file(folder.path("all.tar.gz"), std::filesystem::file_size(folder.path("all.tar.gz")) / 2);
  EXPECT_THAT(refusal([&] { unpack_cifar10(folder.path("all.tar.gz"), folder.path("out")); }), HasSubstr("gzip stream ends early"));
}

// Other files in the cache were not downloaded by this program.
TEST(Cifar10, TheCacheHasPublishedFilesOnly) {
  const Folder folder;
  std::filesystem::create_directories(folder.path("cifar10"));
  for (const auto& name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"})
    folder.write(std::string("cifar10/") + name, records({1}));
  DataPlaces places;
  places.cache_folder = folder.path();
  std::vector<std::string> log;
  EXPECT_THROW(load_dataset(cifar10(), places, [&](const std::string& line) { log.push_back(line); }), DataError);
  EXPECT_THAT(log, testing::Contains(AllOf(HasSubstr("not the published files"), HasSubstr("downloading it again"))));
}

TEST(Cifar10, AFolderForSetsHasOneForEach) {
  const Folder folder;
  std::filesystem::create_directories(folder.path("cifar10"));
  const Folder* const root = &folder;
  for (std::uint8_t i = 1; i <= 5; ++i) root->write("cifar10/data_batch_" + std::to_string(i) + ".bin", records({i}));
  root->write("cifar10/test_batch.bin", records({7}));
  DataPlaces places;
  places.environment_folder = folder.path();
  EXPECT_EQ(load_dataset(cifar10(), places, nullptr).train.samples, 5u);
  // The folder is for other sets too, so that a missing one is not an error of the folder.
  DataConfig mnist;
  EXPECT_THAT(refusal([&] { load_dataset(mnist, places, nullptr); }), HasSubstr("no folder for downloads"));
}

}  // namespace
}  // namespace mgcompare
