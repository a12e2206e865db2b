#include "data/mnist.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "data/fetch.h"
#include "data/folders.h"
#include "data/idx.h"
#include "data/known_file.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

constexpr char kName[] = "mnist";
constexpr std::size_t kClasses = 10;

enum { train_images, train_labels, test_images, test_labels };

const std::array<KnownFile, 4> kFiles = {{
    {"train-images-idx3-ubyte", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
    {"train-labels-idx1-ubyte", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
    {"t10k-images-idx3-ubyte", "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
    {"t10k-labels-idx1-ubyte", "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
}};

// The four compressed files have 11.6 MB; the largest has 47 MB uncompressed.
constexpr std::size_t kMaxDownload = 64u << 20;

std::optional<std::string> find_file(const std::string& folder, const KnownFile& file) {
  std::string dotted = file.name;
  dotted[dotted.find("-idx")] = '.';
  return find_in(folder, {file.name, dotted});
}

bool has_files(const std::string& folder) {
  return std::any_of(kFiles.begin(), kFiles.end(), [&](const KnownFile& file) { return find_file(folder, file).has_value(); });
}

void check_sha256(const std::string& path, const std::string& found, const KnownFile& file) {
  if (const std::string wrong = wrong_checksum(found, file, "MNIST"); !wrong.empty())
    throw DataError(fmt::format("{}: {}: the file was changed or belongs to another data set", path, wrong));
}

Split read_split(const std::string& folder, const KnownFile& images, const KnownFile& labels) {
  std::array<std::string, 2> paths;
  const KnownFile* const wanted[2] = {&images, &labels};
  for (int i = 0; i < 2; ++i) {
    const std::optional<std::string> path = find_file(folder, *wanted[i]);
    if (!path) throw DataError(fmt::format("{}: {} (or {}.gz) is missing", folder, wanted[i]->name, wanted[i]->name));
    paths[static_cast<std::size_t>(i)] = *path;
  }
  LabelledSplit read = read_labelled({paths[0], paths[1]}, kClasses);
  check_sha256(paths[0], read.samples_sha256, images);
  check_sha256(paths[1], read.labels_sha256, labels);
  return std::move(read.split);
}

SampleSpec spec() {
  SampleSpec spec;
  spec.shape = {1, 28, 28};
  spec.classes = kClasses;
  return spec;
}

// Its files are read only with the published checksums, so that the counts are known.
DataSummary describe(const DataConfig& config, const DataPlaces& places) {
  return {spec(), 60'000, 10'000, find_folder(places, config.path, kName, has_files).path};
}

Dataset download_and_read(const DataPlaces& places, const DataLog& log) {
  const std::string folder = cache_of(places, kName);
  log(fmt::format("MNIST was not found; downloading it to {} ...", folder));
  try {
    download_mnist(folder, places.download);
  } catch (const DataError& failed) {
    throw DataMissing(fmt::format("{}; name a folder with MNIST's four files by --data or MGCOMPARE_DATA", failed.what()));
  }
  Dataset set = read_mnist(folder);
  set.origin = fmt::format("downloaded to {}", folder);
  return set;
}

Dataset load(const DataConfig& config, const DataPlaces& places, const DataLog& log) {
  const FoundFolder found = find_folder(places, config.path, kName, has_files);
  if (found.path.empty()) return download_and_read(places, log);
  try {
    return explaining(found, [&] { return read_mnist(found.path); });
  } catch (const DataError& wrong) {
    if (!found.how.empty()) throw;
    log(fmt::format("{}; downloading it again", wrong.what()));
    return download_and_read(places, log);
  }
}

}  // namespace

std::vector<std::string> mnist_mirrors() {
  return {"https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/",
          "https://raw.githubusercontent.com/fgnt/mnist/master/"};
}

Dataset read_mnist(const std::string& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    throw DataError(fmt::format("{}: not a folder with MNIST's four files", folder));
  Dataset set;
  set.name = kName;
  set.spec = spec();
  set.origin = folder;
  set.train = read_split(folder, kFiles[train_images], kFiles[train_labels]);
  set.test = read_split(folder, kFiles[test_images], kFiles[test_labels]);
  return set;
}

void download_mnist(const std::string& folder, const Download& download) {
  make_folder(folder);
  Fetcher fetcher(download.transfer, mirrors_of(download, mnist_mirrors()), download.timeout, download.authorities);
  DownloadProgress progress;
  std::size_t before = 0;
  for (const KnownFile& file : kFiles) {
    const std::string name = std::string(file.name) + ".gz";
    progress.file = name;
    FetchRequest request;
    request.name = name;
    request.path = (fs::path(folder) / name).string();
    request.max_bytes = kMaxDownload - std::min(before, kMaxDownload);
    request.progress = [&](const std::string& from, std::size_t bytes, std::size_t total) {
      progress.from = from;
      progress.bytes = before + bytes;
      progress.total = total == 0 ? 0 : before + total;
      if (download.progress) download.progress(progress);
    };
    request.check = [&](const std::string& got) { check_sha256(got, read_idx(got, 0).sha256, file); };
    before += fetcher.fetch(request);
  }
}

const DataSourceEntry kMnist = {describe, load};

}  // namespace mgcompare
