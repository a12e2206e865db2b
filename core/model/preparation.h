#pragma once

// How stored samples become inputs of a network: (value * scale - mean) / std for each channel, after a training sample was
// shifted and mirrored by chance (model/augmentation.h).

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/sample_spec.h"

namespace mgcompare {

struct Preparation {
  float scale = 1;
  std::vector<float> mean, inverse_std;  // for each channel; empty: 0 and 1
  bool flip = false;
  std::size_t crop_padding = 0;

  bool augments() const { return flip || crop_padding > 0; }
  // Whether a value is only multiplied by `scale`.
  bool only_scales() const { return mean.empty() && inverse_std.empty() && !augments(); }
};

struct PreparationProblem {
  std::string key;                  // of the section `data`: "crop.padding"
  std::string text;                 // a sentence in the words of the config
};

// Why samples of this form, as the network reads them (as_read()), cannot be prepared so; nothing if they can.
std::optional<PreparationProblem> preparation_problem(const PreparationConfig& config, const SampleSpec& spec);

// Throws Error with that sentence.
Preparation preparation_of(const PreparationConfig& config, const SampleSpec& spec);

}  // namespace mgcompare
