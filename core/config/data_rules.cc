// Which keys of `data:` belong to which data set.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "config/config_reader.h"

namespace mgcompare {
namespace {

bool is_one_of(DataSource set, std::initializer_list<DataSource> sets) { return std::find(sets.begin(), sets.end(), set) != sets.end(); }

// What of a set of files is not there; empty if nothing is known to be missing.
std::string missing_file(DataSource set, const std::string& path) {
  std::error_code ignored;
  if (set == DataSource::npy) return std::filesystem::exists(path + "/x.npy", ignored) ? "" : fmt::format("no x.npy in {}", path);
  return std::filesystem::exists(path, ignored) ? "" : fmt::format("{} does not exist", path);
}

void add_places(const Node& section, const std::string& prefix, std::map<std::string, Place>& places) {
  for (const Entry& entry : section.entries) {
    places[prefix + entry.key] = entry.value.place;
    add_places(entry.value, prefix + entry.key + ".", places);
  }
}

}  // namespace

void ConfigReader::note_places(const Node& root, DataConfig& data) {
  const Node* const section = root.find("data");
  if (section == nullptr) return;
  data.places[""] = section->place;
  add_places(*section, "", data.places);
}

void ConfigReader::check_data(const Node& root, const DataConfig& data) {
  using enum DataSource;
  const std::string set(to_string(data.set));
  const bool falls_back = data.fallback == DataFallback::synthetic;
  struct Rule {
    const char* key;
    bool is_given;
    bool may_be_given;
    bool must_be_given;
    const char* example;
  };
  const bool sequences = is_one_of(data.set, {tokens, text});
  const bool is_file = sequences || is_one_of(data.set, {idx, npy});
  const bool is_own_form = data.set == synthetic || (falls_back && is_one_of(data.set, {idx, npy}));
  const bool has_samples = is_own_form || (falls_back && sequences);
  // These keys without a fallback are wrong, but what the run lacks is the file: that comes first.
  if (is_file && !falls_back && !data.path.empty() && (!data.shape.empty() || data.samples > 0)) {
    std::error_code ignored;
    const std::filesystem::path path = beside_config(data.path);
    const bool needs_folder = is_one_of(data.set, {idx, npy}) && std::filesystem::is_regular_file(path, ignored);
    const std::string missing = needs_folder ? fmt::format("{} is a file, but {} is read from a folder", path.string(), set) : missing_file(data.set, path.string());
    if (!missing.empty())
      problem(place_of(root, "data", "path"), missing,
              needs_folder ? fmt::format("write {}", path.parent_path().string())
                           : "write it (docs/your-own-model.md), or draw samples in its place: `fallback: synthetic`", data.path.size());
  }
  for (const Rule& rule : {
           Rule{"path", !data.path.empty(), is_file || is_one_of(data.set, {mnist, cifar10}), is_file, "path: FILE_OR_FOLDER"},
           Rule{"validation", !data.validation.empty(), sequences, false, ""},
           Rule{"length", data.length > 0, sequences, data.set == text, "length: 64"},
           Rule{"target", data.target != TargetKind::automatic, sequences, false, ""},
           Rule{"classes", data.classes > 0, is_file || data.set == synthetic, data.set == synthetic, "classes: 10"},
           Rule{"shape", !data.shape.empty(), is_own_form, data.set == synthetic, "shape: [3, 32, 32]"},
           Rule{"samples", data.samples > 0, has_samples, data.set == synthetic, "samples: 4096"},
       }) {
    if (rule.is_given && !rule.may_be_given)
      problem(place_of(root, "data", rule.key), fmt::format("'data.{}' has no meaning for the data set {}", rule.key, set),
              is_file && (rule.key == std::string_view("shape") || rule.key == std::string_view("samples")) && !falls_back
                  ? "remove it: it is for `fallback: synthetic`"
                  : "remove it");
    if (!rule.is_given && rule.must_be_given)
      problem(place_of(root, "data", "set"), fmt::format("the data set {} needs 'data.{}'", set, rule.key),
              fmt::format("add `{}`", rule.example), set.size());
  }
  if (data.fallback == DataFallback::digits && data.set != mnist && data.set != DataSource::digits)
    problem(place_of(root, "data", "fallback"), "the drawn digits can replace MNIST only", "write `fallback: synthetic`", 6);
  const std::optional<double> share = validation_share(data);
  if (share && (data.set != text || !(*share > 0 && *share < 1)))
    problem(place_of(root, "data", "validation"),
            data.set == text ? fmt::format("the share of the text to hold back is {}", *share)
                             : fmt::format("'data.validation' of {} is a file, not {}", set, *share),
            data.set == text ? "use a number between 0 and 1, or a file" : "name the file to evaluate on", data.validation.size());
  if (data.set == synthetic && data.classes == 1)
    problem(place_of(root, "data", "classes"), "one class leaves nothing to learn", "use two or more");
}

}  // namespace mgcompare
