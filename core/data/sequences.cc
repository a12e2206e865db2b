#include "data/sequences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace mgcompare {

SequenceForm sequence_form(const DataConfig& config) {
  return {config.length, config.set == DataSource::text ? config.target != TargetKind::last : config.target == TargetKind::next};
}

void expect_validation(const DataConfig& config) {
  std::error_code ignored;
  if (!config.validation.empty() && !std::filesystem::exists(config.validation, ignored))
    throw DataError(fmt::format("{} is missing, but {} is there: correct `data.validation`", config.validation, config.path));
}

SampleSpec SequenceForm::spec(std::size_t tokens) const {
  SampleSpec spec;
  spec.shape = {length};
  spec.element = ElementType::int32;
  spec.classes = tokens;
  spec.targets = every_position ? length : 1;
  spec.tokens = tokens;
  return spec;
}

FoundInteger SequenceForm::largest(std::span<const std::int32_t> tokens, std::size_t stride, const std::string& path) const {
  const auto found = std::max_element(tokens.begin(), tokens.end());
  if (found == tokens.end()) return {};
  return {*found, fmt::format("sample {} of {}", static_cast<std::size_t>(found - tokens.begin()) / stride, path)};
}

Split SequenceForm::split(std::span<const std::int32_t> tokens, std::size_t stride) const {
  Split split;
  split.samples = tokens.size() <= length ? 0 : (tokens.size() - length - 1) / stride + 1;
  std::vector<std::uint8_t> bytes(split.samples * length * sizeof(std::int32_t));
  for (std::size_t sample = 0; sample < split.samples; ++sample) {
    const std::int32_t* const from = tokens.data() + sample * stride;
    std::memcpy(bytes.data() + sample * length * sizeof(std::int32_t), from, length * sizeof(std::int32_t));
    for (std::size_t i = every_position ? 1 : length; i <= length; ++i) split.targets.push_back(static_cast<std::uint32_t>(from[i]));
  }
  split.values = SharedBytes(std::move(bytes));
  return split;
}

}  // namespace mgcompare
