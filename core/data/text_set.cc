#include "data/text_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/number_text.h"
#include "base/text.h"
#include "data/sequences.h"
#include "data/text_encoding.h"
#include "data/unpacker.h"

namespace mgcompare {
namespace {

constexpr std::size_t kChunk = 1u << 20;

std::string read_whole(const std::string& path) {
  Unpacker file(path);
  std::string text;
  for (std::size_t got = kChunk; got == kChunk;) {
    // Four bytes for the number of each character, and the text itself.
    check_fits_memory(path, 5.0 * static_cast<double>(text.size() + kChunk));
    const std::size_t before = text.size();
    text.resize(before + kChunk);
    got = file.read(text.data() + before, kChunk);
    text.resize(before + got);
  }
  return text;
}

// The code point of the valid character at the start of `text`, which has `bytes` bytes.
char32_t code_point(std::string_view text, std::size_t bytes) {
  if (bytes == 1) return static_cast<unsigned char>(text[0]);
  char32_t code = static_cast<unsigned char>(text[0]) & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3fu);
  return code;
}

// Numbers of a second text in the alphabet of the first.
std::vector<std::int32_t> translated(const std::string& path, const TextTokens& other, const std::vector<char32_t>& alphabet) {
  std::vector<std::int32_t> values;
  values.reserve(other.values.size());
  for (const std::int32_t value : other.values) {
    const char32_t code = other.alphabet[static_cast<std::size_t>(value)];
    const auto found = std::lower_bound(alphabet.begin(), alphabet.end(), code);
    if (found == alphabet.end() || *found != code)
      throw DataError(fmt::format("{}: the character U+{:04X} is not in the training text", path, static_cast<std::uint32_t>(code)));
    values.push_back(static_cast<std::int32_t>(found - alphabet.begin()));
  }
  return values;
}

std::size_t classes_of(const DataConfig& config, const TextTokens& text) {
  if (config.classes == 0) return text.alphabet.size();
  if (config.classes >= text.alphabet.size()) return config.classes;
  throw DataError(fmt::format("{}: the text has {} different characters, and `data.classes` is {}: use at least as many, or leave it out",
                              config.path, text.alphabet.size(), config.classes));
}

Dataset load(const DataConfig& config, const DataPlaces&, const DataLog&) {
  const TextTokens text = read_text_tokens(config.path);
  const SequenceForm form = sequence_form(config);
  Dataset set;
  set.name = "text";
  set.origin = config.path;
  set.spec = form.spec(classes_of(config, text));
  set.spec.largest = form.largest(text.values, form.length, config.path);
  std::span<const std::int32_t> train(text.values), test;
  std::vector<std::int32_t> other;
  if (const auto share = validation_share(config)) {
    const auto held_back = static_cast<std::size_t>(static_cast<double>(train.size()) * *share);
    test = train.last(held_back);
    train = train.first(train.size() - held_back);
  } else if (!config.validation.empty()) {
    expect_validation(config);
    other = translated(config.validation, read_text_tokens(config.validation), text.alphabet);
    test = other;
  }
  set.train = form.split(train, form.length);
  set.test = form.split(test, form.length);
  for (const auto& [split, what, has] : {std::tuple(&set.train, "for training", true), std::tuple(&set.test, "for validation", !test.empty())})
    if (has && split->samples == 0)
      throw DataError(fmt::format("{}: the text {} is too short: a sample needs {} characters", config.path, what, form.length + 1));
  if (text.alphabet.size() == 1)
    throw DataError(fmt::format("{}: all {} characters are the same: with one class there is nothing to learn", config.path, thousands(text.values.size())));
  return set;
}

DataSummary describe(const DataConfig& config, const DataPlaces& places) {
  const Dataset set = load(config, places, nullptr);
  return {set.spec, set.train.samples, set.test.samples, config.path};
}

}  // namespace

TextTokens read_text_tokens(const std::string& path) {
  const std::string text = read_whole(path);
  std::vector<char32_t> codes;
  codes.reserve(text.size());
  std::string_view rest = text;
  if (const std::string_view wide = wide_encoding(rest); !wide.empty())
    throw DataError(fmt::format("{}: {}", path, wide_encoding_text(wide)));
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  while (!rest.empty()) {
    const std::size_t bytes = utf8_length(rest);
    if (bytes == 0) throw DataError(fmt::format("{}: byte {} is not UTF-8: convert the file", path, text.size() - rest.size()));
    codes.push_back(code_point(rest, bytes));
    rest.remove_prefix(bytes);
  }
  if (codes.empty()) throw DataError(fmt::format("{}: the file is empty", path));
  TextTokens tokens;
  std::map<char32_t, std::int32_t> numbers;
  for (const char32_t code : codes) numbers.emplace(code, 0);
  for (auto& [code, number] : numbers) {
    number = static_cast<std::int32_t>(tokens.alphabet.size());
    tokens.alphabet.push_back(code);
  }
  tokens.values.reserve(codes.size());
  for (const char32_t code : codes) tokens.values.push_back(numbers.at(code));
  return tokens;
}

const DataSourceEntry kText = {describe, load};

}  // namespace mgcompare
