// Which keys of `data:` belong to which data set.

#include <fmt/format.h>

#include <algorithm>

#include "config/config_reader.h"

namespace mgcompare {
namespace {

bool is_one_of(DataSource set, std::initializer_list<DataSource> sets) { return std::find(sets.begin(), sets.end(), set) != sets.end(); }

}  // namespace

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
      problem(place_of(root, "data", rule.key), fmt::format("'data.{}' has no meaning for the data set {}", rule.key, set), "remove it");
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
