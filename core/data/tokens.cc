#include "data/tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/number_text.h"
#include "base/text.h"
#include "data/sequences.h"
#include "data/text_encoding.h"
#include "data/unpacker.h"

namespace mgcompare {
namespace {

constexpr std::size_t kChunk = 1u << 20;
constexpr std::size_t kMaxToken = 1u << 24;  // integers up to here are exact as float
constexpr double kManyUnknown = 0.01;         // share of the validation targets that may be unknown

bool is_blank(char c) { return c == ',' || c == ';' || c == ' ' || c == '\t' || c == '\r'; }

// The digits of an integer as the file has them; of a long one the first and the last.
class WrittenInteger {
 public:
  bool empty() const { return digits_ == 0; }
  void clear() { digits_ = 0; }
  void add(char digit) {
    if (digits_ < kFirst) first_[digits_] = digit;
    else last_[digits_ % kLast] = digit;
    ++digits_;
  }
  std::string text() const {
    std::string text(first_, std::min(digits_, kFirst));
    const std::size_t left = digits_ - text.size(), shown = std::min(left, kLast);
    if (left > kLast) text += "...";
    for (std::size_t i = digits_ - shown; i < digits_; ++i) text += last_[i % kLast];
    return left > kLast ? fmt::format("{} ({} digits)", text, digits_) : text;
  }

 private:
  static constexpr std::size_t kFirst = 24, kLast = 8;
  char first_[kFirst] = {}, last_[kLast] = {};
  std::size_t digits_ = 0;
};

class LineReader {
 public:
  LineReader(const std::string& path, std::size_t length, std::size_t limit) : file_(path), limit_(limit) { found_.length = length; }

  TokenLines read() {
    std::string chunk(kChunk, '\0');
    for (std::size_t got = 0; (got = file_.read(chunk.data(), kChunk)) != 0;) {
      check_fits_memory(file_.path(), static_cast<double>(found_.values.capacity() * sizeof(std::int32_t)));
      std::string_view text(chunk.data(), got);
      if (file_.offset() == got) text = without_mark(text);
      for (const char c : text) add(c);
    }
    end_line();
    if (found_.values.empty()) file_.refuse("there is no sequence in it");
    return std::move(found_);
  }

 private:
  [[noreturn]] void refuse_line(const std::string& why) { file_.refuse(fmt::format("line {}: {}", line_, why)); }

  std::string_view without_mark(std::string_view start) {
    if (const std::string_view wide = wide_encoding(start); !wide.empty()) file_.refuse(wide_encoding_text(wide));
    if (start.starts_with(kByteOrderMark)) start.remove_prefix(kByteOrderMark.size());
    return start;
  }

  void add(char c) {
    if (c == '\n') {
      end_line();
      ++line_;
    } else if (is_blank(c)) {
      end_value();
    } else if (c >= '0' && c <= '9') {
      value_ = std::min(value_ * 10 + static_cast<std::size_t>(c - '0'), limit_);
      written_.add(c);
    } else {
      refuse_line(c > ' ' && c < 127 ? fmt::format("'{}' is no part of an integer from 0 on", c)
                                     : fmt::format("byte 0x{:02x} is no part of an integer from 0 on", static_cast<unsigned char>(c)));
    }
  }

  void end_value() {
    if (written_.empty()) return;
    if (value_ >= limit_) refuse_line(fmt::format("{} is too large: integers go from 0 to {}", written_.text(), limit_ - 1));
    found_.values.push_back(static_cast<std::int32_t>(value_));
    value_ = 0;
    written_.clear();
    ++in_line_;
  }

  void end_line() {
    end_value();
    if (in_line_ == 0) return;
    if (found_.length == 0) found_.length = in_line_;
    if (in_line_ != found_.length) refuse_line(fmt::format("it has {} integers, and {} are needed", in_line_, found_.length));
    in_line_ = 0;
  }

  Unpacker file_;
  std::size_t limit_;
  TokenLines found_;
  std::size_t line_ = 1, in_line_ = 0;
  std::size_t value_ = 0;           // of the integer that is being read; at most limit_
  WrittenInteger written_;
};

// Inputs and the target: one more than the length.
TokenLines read_lines(const DataConfig& config, const std::string& path, std::size_t length) {
  TokenLines lines = read_tokens(path, length, config.classes > 0 ? config.classes : kMaxToken);
  if (lines.length < 2) throw DataError(fmt::format("{}: a line needs at least two integers, an input and its target", path));
  return lines;
}

struct TokenFiles {
  SequenceForm form;
  TokenLines train, test;           // `test` may be empty
};

TokenFiles read_files(const DataConfig& config) {
  TokenFiles files;
  files.train = read_lines(config, config.path, config.length == 0 ? 0 : config.length + 1);
  files.form = sequence_form(config);
  files.form.length = files.train.length - 1;
  expect_validation(config);
  if (!config.validation.empty()) files.test = read_lines(config, config.validation, files.train.length);
  return files;
}

// The targets of the lines, which must stay alive.
Labels labels_of(const std::string& path, const SequenceForm& form, const TokenLines& lines) {
  const std::size_t targets = form.every_position ? form.length : 1, first = lines.length - targets;
  return {.path = path, .samples = lines.lines(), .targets = targets,
          .at = [&lines, targets, first](std::size_t i) { return std::int64_t{lines.values[i / targets * lines.length + first + i % targets]}; },
          .are_symbols = true, .doubt = {}};
}

// A rare symbol may be in the validation samples only, but many such targets show that the files are numbered differently.
std::string unknown_targets(const DataConfig& config, const TokenFiles& files) {
  if (files.test.values.empty()) return "";
  std::vector<bool> known(static_cast<std::size_t>(*std::max_element(files.train.values.begin(), files.train.values.end())) + 1);
  for (const std::int32_t value : files.train.values) known[static_cast<std::size_t>(value)] = true;
  const Labels targets = labels_of(config.validation, files.form, files.test);
  std::size_t unknown = 0, first = 0;
  for (std::size_t i = 0; i < targets.count(); ++i) {
    const auto target = static_cast<std::size_t>(targets.at(i));
    if (target < known.size() && known[target]) continue;
    if (unknown++ == 0) first = i;
  }
  if (unknown == 0 || static_cast<double>(unknown) < kManyUnknown * static_cast<double>(targets.count())) return "";
  return fmt::format("{}: {} of the {} targets are integers that {} does not have (the first is {} of sample {}), so that no network can learn them: "
                     "number the integers of both files in the same way, unless this is meant", config.validation, thousands(unknown),
                     thousands(targets.count()), config.path, targets.at(first), first / targets.targets);
}

Dataset load(const DataConfig& config, const DataPlaces&, const DataLog&) {
  const auto [form, train, test] = read_files(config);
  if (config.classes == 0) expect_several_classes(labels_of(config.path, form, train));
  Dataset set;
  set.name = "tokens";
  set.origin = config.path;
  FoundInteger largest = form.largest(train.values, train.length, config.path);
  if (const FoundInteger other = form.largest(test.values, train.length, config.validation); other.value > largest.value) largest = other;
  set.spec = form.spec(config.classes > 0 ? config.classes : static_cast<std::size_t>(largest.value) + 1);
  set.spec.largest = largest;
  set.train = form.split(train.values, train.length);
  set.test = form.split(test.values, train.length);
  return set;
}

DataSummary describe(const DataConfig& config, const DataPlaces& places) {
  const Dataset set = load(config, places, nullptr);
  return {set.spec, set.train.samples, set.test.samples, config.path};
}

Labels training_labels(const DataConfig& config, const DataSummary&) {
  const auto files = std::make_shared<const TokenFiles>(read_files(config));
  Labels labels = labels_of(config.path, files->form, files->train);
  labels.at = [files, at = labels.at](std::size_t i) { return at(i); };  // keeps the lines alive
  labels.doubt = unknown_targets(config, *files);
  return labels;
}

}  // namespace

TokenLines read_tokens(const std::string& path, std::size_t length, std::size_t limit) {
  return LineReader(path, length, limit).read();
}

const DataSourceEntry kTokens = {describe, load, training_labels};

}  // namespace mgcompare
