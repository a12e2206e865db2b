#include "services/data_remarks.h"

#include <algorithm>

#include <fmt/format.h>

#include "data/training_glance.h"
#include "model/input_range.h"
#include "plan/statistics_lag.h"
#include "plan/version.h"

namespace mgcompare {
namespace {

bool reads_tokens(const ModelConfig& model) {
  return std::any_of(model.layers.begin(), model.layers.end(),
                     [](const LayerConfig& layer) { return layer.type == LayerType::embedding || layer.type == LayerType::one_hot; });
}

// Whether the first layer that computes normalises its input, of any range.
bool normalises_first(const ModelConfig& model) {
  const auto first = std::find_if(model.layers.begin(), model.layers.end(), [](const LayerConfig& layer) { return layer.type != LayerType::flatten; });
  return first != model.layers.end() && (first->type == LayerType::batch_norm || first->type == LayerType::layer_norm);
}

}  // namespace

std::vector<std::string> data_remarks(const Config& config, const DataSummary& data) {
  std::vector<std::string> remarks;
  const auto add = [&](const std::string& remark) {
    if (!remark.empty() && std::find(remarks.begin(), remarks.end(), remark) == remarks.end()) remarks.push_back(remark);
  };
  const TrainingGlance glance = glance_at(config.data, data);
  const bool has_labels = glance.labels.samples > 0;
  if (has_labels) add(glance.labels.doubt);
  SampleSpec numbers = data.spec;
  numbers.tokens = 0;
  for (const Version& version : versions_of(config)) {
    if (has_labels) {
      add(label_warning(glance.labels, data.spec.classes, version.config.data));
      add(validation_warning(glance.labels, version.config.data));
      add(majority_warning(glance.labels, data.spec.classes, version.config.data, version.config.target_accuracy));
    }
    const std::string lag = statistics_lag_warning(version.config, data.train_samples);
    add(lag.empty() || version.variant.empty() ? lag : fmt::format("variant {}: {}", version.variant, lag));
    if (reads_tokens(version.config.model) || normalises_first(version.config.model)) continue;
    const std::string warning = input_range_warning(version.config.data.prepare, numbers, glance.channels);
    add(warning.empty() || version.variant.empty() ? warning : fmt::format("variant {}: {}", version.variant, warning));
  }
  return remarks;
}

}  // namespace mgcompare
