#include "data/cifar10.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>

#include "base/atomic_file.h"
#include "base/sha256.h"
#include "data/folders.h"
#include "data/known_file.h"
#include "data/unpacker.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

const Shape kShape = {3, 32, 32};
constexpr std::size_t kPixels = 3 * 32 * 32, kRecord = 1 + kPixels;
constexpr std::size_t kClasses = 10;
constexpr std::size_t kTrainSamples = 50'000, kTestSamples = 10'000;
constexpr std::size_t kMaxRecords = 10'000;  // of a file

// The last one is the test set.
const std::array<KnownFile, 6> kFiles = {{
    {"data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"},
    {"data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"},
    {"data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"},
    {"data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"},
    {"data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"},
    {"test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"},
}};
const KnownFile kArchive = {"cifar-10-binary.tar.gz", "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"};
constexpr std::size_t kArchiveBytes = 170'052'171;

std::vector<std::string> mirrors() { return {"https://www.cs.toronto.edu/~kriz/"}; }

bool has_files(const std::string& folder) {
  return std::any_of(kFiles.begin(), kFiles.end(), [&](const KnownFile& file) { return find_in(folder, {file.name}).has_value(); });
}

std::string path_of(const std::string& folder, const KnownFile& file) {
  const std::optional<std::string> path = only_one(folder, {file.name});
  if (!path) throw DataError(fmt::format("{}: {} (or {}.gz) of CIFAR-10 is missing", folder, file.name, file.name));
  return *path;
}

// Adds the records of the file to a split, and a remark if they are not the published ones.
void add(const std::string& folder, const KnownFile& file, std::vector<std::uint8_t>& images,
         std::vector<std::uint32_t>& labels, std::vector<std::string>& remarks) {
  const std::string path = path_of(folder, file);
  Cifar10Records records = read_cifar10_file(path);
  images.insert(images.end(), records.images.begin(), records.images.end());
  labels.insert(labels.end(), records.labels.begin(), records.labels.end());
  if (const std::string wrong = wrong_checksum(records.sha256, file, "CIFAR-10"); !wrong.empty())
    remarks.push_back(fmt::format("{}: {}", fs::path(path).filename().string(), wrong));
}

Split split_of(std::vector<std::uint8_t> images, std::vector<std::uint32_t> labels) {
  Split split;
  split.samples = labels.size();
  split.values = SharedBytes(std::move(images));
  split.targets = std::move(labels);
  return split;
}

[[noreturn]] void refuse_empty(Unpacker& file) {
  file.refuse(fmt::format("there is nothing in it: a file of CIFAR-10 has {} bytes for each sample, and the published one {} bytes",
                          kRecord, kMaxRecords * kRecord));
}

// `labels` must stay alive.
Labels labels_of(const std::string& folder, const std::vector<std::uint32_t>& labels) {
  return {.path = folder, .samples = labels.size(), .at = [&labels](std::size_t i) { return std::int64_t{labels[i]}; }, .doubt = {}};
}

std::vector<std::uint32_t> read_training_labels(const std::string& folder) {
  std::vector<std::uint32_t> labels;
  for (std::size_t i = 0; i + 1 < kFiles.size(); ++i) {
    const Cifar10Records records = read_cifar10_file(path_of(folder, kFiles[i]));
    labels.insert(labels.end(), records.labels.begin(), records.labels.end());
  }
  return labels;
}

// From the unpacked size, without unpacking a packed file: its last four bytes state it.
std::size_t samples_in(const std::string& path) {
  Unpacker file(path);
  const std::size_t bytes = file.stated_bytes();
  if (bytes == 0) refuse_empty(file);
  if (bytes < kRecord) file.refuse(fmt::format("truncated at byte {}: a record of CIFAR-10 has {} bytes", bytes, kRecord));
  return bytes / kRecord;
}

SampleSpec spec() {
  SampleSpec spec;
  spec.shape = kShape;
  spec.classes = kClasses;
  return spec;
}

// Such a set is not read for a plan, because this takes seconds.
bool has_published_size(const DataSummary& summary) { return summary.train_samples == kTrainSamples; }

DataSummary describe(const DataConfig& config, const DataPlaces& places) {
  DataSummary summary{spec(), kTrainSamples, kTestSamples};
  const FoundFolder found = find_folder(places, config.path, "cifar10", has_files);
  if (found.path.empty()) return summary;
  return explaining(found, [&] {
    summary.place = found.path;
    summary.train_samples = 0;
    for (std::size_t i = 0; i + 1 < kFiles.size(); ++i) summary.train_samples += samples_in(path_of(found.path, kFiles[i]));
    summary.test_samples = samples_in(path_of(found.path, kFiles.back()));
    if (!found.how.empty() && !has_published_size(summary)) expect_several_classes(labels_of(found.path, read_training_labels(found.path)));
    return summary;
  });
}

Labels training_labels(const DataConfig&, const DataSummary& data) {
  if (data.place.empty() || has_published_size(data)) return {};
  const auto read = std::make_shared<const std::vector<std::uint32_t>>(read_training_labels(data.place));
  Labels labels = labels_of(data.place, *read);
  labels.at = [read](std::size_t i) { return std::int64_t{(*read)[i]}; };
  return labels;
}

Dataset download_and_read(const DataPlaces& places, const DataLog& log) {
  const std::string folder = cache_of(places, "cifar10");
  log(fmt::format("CIFAR-10 was not found; downloading it to {} ...", folder));
  try {
    download_cifar10(folder, places.download);
  } catch (const DataError& failed) {
    throw DataMissing(fmt::format("{}; name a folder with CIFAR-10's six files by --data or MGCOMPARE_DATA", failed.what()));
  }
  Dataset set = read_cifar10(folder);
  set.origin = fmt::format("downloaded to {}", folder);
  return set;
}

Dataset load(const DataConfig& config, const DataPlaces& places, const DataLog& log) {
  const FoundFolder found = find_folder(places, config.path, "cifar10", has_files);
  if (found.path.empty()) return download_and_read(places, log);
  if (!found.how.empty()) {
    return explaining(found, [&] {
      Dataset set = read_cifar10(found.path);
      if (!set.remark.empty()) expect_several_classes(labels_of(found.path, set.train.targets));
      return set;
    });
  }
  // Only the published files belong into the cache.
  try {
    Dataset set = read_cifar10(found.path);
    if (set.remark.empty()) return set;
    log(fmt::format("{}; downloading it again", set.origin));
  } catch (const DataError& wrong) {
    log(fmt::format("{}; downloading it again", wrong.what()));
  }
  return download_and_read(places, log);
}

}  // namespace

Cifar10Records read_cifar10_file(const std::string& path) {
  Unpacker file(path);
  Cifar10Records records;
  std::vector<std::uint8_t> record(kRecord);
  for (std::size_t got = 0; (got = file.read(record.data(), kRecord)) != 0;) {
    if (got < kRecord)
      file.refuse(fmt::format("truncated at byte {}: a record of CIFAR-10 has {} bytes", file.offset(), kRecord));
    if (record[0] >= kClasses)
      file.refuse(fmt::format("label {} at byte {}: labels go from 0 to {}", record[0], file.offset() - kRecord, kClasses - 1));
    if (records.labels.size() == kMaxRecords)
      file.refuse(fmt::format("trailing bytes from byte {} on: a file of CIFAR-10 has at most {} records: this is another file, or a damaged one",
                              kMaxRecords * kRecord, kMaxRecords));
    records.labels.push_back(record[0]);
    records.images.insert(records.images.end(), record.begin() + 1, record.end());
  }
  if (records.labels.empty()) refuse_empty(file);
  records.sha256 = file.sha256();
  return records;
}

Dataset read_cifar10(const std::string& folder) {
  Dataset set;
  set.name = "cifar10";
  set.spec = spec();
  std::vector<std::string> remarks;
  std::vector<std::uint8_t> images;
  std::vector<std::uint32_t> labels;
  for (std::size_t i = 0; i + 1 < kFiles.size(); ++i) add(folder, kFiles[i], images, labels, remarks);
  set.train = split_of(std::exchange(images, {}), std::exchange(labels, {}));
  add(folder, kFiles.back(), images, labels, remarks);
  set.test = split_of(std::move(images), std::move(labels));
  set.origin = remarks.empty() ? folder : fmt::format("{}; not the published files: {}", folder, fmt::join(remarks, ", "));
  if (!remarks.empty())
    set.remark = fmt::format("{} of the {} files of CIFAR-10 {}: accuracies cannot be compared with published ones", remarks.size(),
                             kFiles.size(), remarks.size() == 1 ? "is not the published one" : "are not the published ones");
  return set;
}

void unpack_cifar10(const std::string& path, const std::string& folder) {
  // POSIX.1-1988 (ustar): each file has a header of 512 bytes, and its bytes are filled up to a multiple of them.
  constexpr std::size_t kBlock = 512, kNameBytes = 100, kSizeAt = 124, kSizeBytes = 11;
  Unpacker archive(path);
  std::set<std::string> missing;
  for (const KnownFile& file : kFiles) missing.insert(file.name);
  std::array<char, kBlock> block;
  while (!missing.empty()) {
    const bool has_header = archive.read(block.data(), kBlock) == kBlock;
    std::size_t size = 0;
    const char* const digits = block.data() + kSizeAt;
    if (!has_header || block[0] == '\0' || std::from_chars(digits, digits + kSizeBytes, size, 8).ptr == digits)
      throw DataError(fmt::format("{}: {} is missing before byte {} of the archive", path, *missing.begin(), archive.offset()));
    const std::string name = fs::path(std::string(block.data(), strnlen(block.data(), kNameBytes))).filename().string();
    std::optional<AtomicFile> file;
    if (missing.erase(name) > 0) file.emplace((fs::path(folder) / name).string());
    for (std::size_t left = size; left > 0; left -= std::min(left, kBlock)) {
      if (archive.read(block.data(), kBlock) < kBlock)
        throw DataError(fmt::format("{}: truncated at byte {}, within {}", path, archive.offset(), name));
      if (file) file->write({block.data(), std::min(left, kBlock)});
    }
    if (file) file->commit();
  }
}

void download_cifar10(const std::string& folder, const Download& download) {
  make_folder(folder);
  Fetcher fetcher(download.transfer, mirrors_of(download, mirrors()), download.timeout, download.authorities);
  FetchRequest request;
  request.name = kArchive.name;
  request.path = (fs::path(folder) / kArchive.name).string();
  request.max_bytes = kArchiveBytes;
  request.progress = [&](const std::string& from, std::size_t bytes, std::size_t total) {
    if (download.progress) download.progress({kArchive.name, from, bytes, total});
  };
  request.check = [](const std::string& got) {
    if (const std::string wrong = wrong_checksum(sha256_of_file(got), kArchive, "CIFAR-10"); !wrong.empty()) throw DataError(wrong);
  };
  fetcher.fetch(request);
  unpack_cifar10(request.path, folder);
  // Plain files of other bytes would be in doubt with the packed ones.
  std::error_code ignored;
  for (const KnownFile& file : kFiles) fs::remove(fs::path(folder) / file.name, ignored);
  fs::remove(request.path, ignored);
}

const DataSourceEntry kCifar10 = {describe, load, training_labels};

}  // namespace mgcompare
