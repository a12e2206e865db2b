#include "data/mnist.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "data/fetch.h"
#include "data/idx.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

struct KnownFile {
  const char* name;
  int dimensions;
  const char* sha256;  // uncompressed
};

enum { train_images, train_labels, test_images, test_labels };

constexpr std::array<KnownFile, 4> kFiles = {{
    {"train-images-idx3-ubyte", 3, "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
    {"train-labels-idx1-ubyte", 1, "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
    {"t10k-images-idx3-ubyte", 3, "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
    {"t10k-labels-idx1-ubyte", 1, "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
}};

// The four compressed files have 11.6 MB; the largest has 47 MB uncompressed.
constexpr std::size_t kMaxDownload = 64u << 20;

std::optional<std::string> find_file(const std::string& folder, const KnownFile& file) {
  std::string dotted = file.name;
  dotted[dotted.find("-idx")] = '.';
  for (const std::string& name : {std::string(file.name), dotted}) {
    for (const char* ending : {".gz", ""}) {
      const fs::path path = fs::path(folder) / (name + ending);
      std::error_code ignored;
      if (fs::exists(path, ignored)) return path.string();
    }
  }
  return std::nullopt;
}

void check_sha256(const std::string& path, const std::string& found, const KnownFile& file) {
  if (found == file.sha256) return;
  throw DataError(
      fmt::format("{}: checksum {}... is not that of MNIST's {} ({}...): the file was changed or belongs to another data set",
                  path, found.substr(0, 12), file.name, std::string(file.sha256).substr(0, 12)));
}

Split read_split(const std::string& folder, const KnownFile& images, const KnownFile& labels) {
  std::array<std::string, 2> paths;
  const KnownFile* const wanted[2] = {&images, &labels};
  for (int i = 0; i < 2; ++i) {
    const std::optional<std::string> path = find_file(folder, *wanted[i]);
    if (!path) throw DataError(fmt::format("{}: {} (or {}.gz) is missing", folder, wanted[i]->name, wanted[i]->name));
    paths[static_cast<std::size_t>(i)] = *path;
  }
  LabelledSplit read = read_labelled({paths[0], paths[1]}, 10);
  check_sha256(paths[0], read.images_sha256, images);
  check_sha256(paths[1], read.labels_sha256, labels);
  return std::move(read.split);
}

}  // namespace

std::vector<std::string> mnist_mirrors() {
  return {"https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/",
          "https://raw.githubusercontent.com/fgnt/mnist/master/"};
}

bool has_mnist(const std::string& folder) {
  return std::any_of(kFiles.begin(), kFiles.end(),
                     [&](const KnownFile& file) { return find_file(folder, file).has_value(); });
}

Dataset read_mnist(const std::string& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    throw DataError(fmt::format("{}: not a folder with MNIST's four files", folder));
  Dataset set;
  set.name = "mnist";
  set.origin = folder;
  set.train = read_split(folder, kFiles[train_images], kFiles[train_labels]);
  set.test = read_split(folder, kFiles[test_images], kFiles[test_labels]);
  return set;
}

void download_mnist(const std::string& folder, const Download& download) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) throw DataError(fmt::format("{}: cannot be created: {}", folder, failure.message()));

  Fetcher fetcher(download.mirrors, download.timeout, download.authorities);
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
    request.check = [&](const std::string& got) { check_sha256(got, read_idx(got, file.dimensions).sha256, file); };
    before += fetcher.fetch(request);
  }
}

}  // namespace mgcompare
