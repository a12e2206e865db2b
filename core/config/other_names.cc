#include "config/other_names.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace mgcompare {
namespace {

struct OtherName {
  std::string_view other;  // as `comparable` writes it
  std::string_view own;
};

constexpr OtherName kOtherNames[] = {
    // Layers.
    {"linear", "dense"},
    {"fc", "dense"},
    {"fullyconnected", "dense"},
    {"batchnormalization", "batch_norm"},
    {"layernormalization", "layer_norm"},
    {"localresponsenorm", "lrn"},
    {"maxpooling", "max_pool"},
    {"avgpool", "average_pool"},
    {"averagepooling", "average_pool"},
    {"globalavgpool", "global_average_pool"},
    {"globalaveragepooling", "global_average_pool"},
    {"adaptiveavgpool", "global_average_pool"},
    {"concatenate", "concat"},
    {"residual", "add"},
    // Policies of batch normalisation.
    {"global", "sync"},
    {"synchronized", "sync"},
    {"syncbn", "sync"},
    // Settings of layers.
    {"filters", "channels"},
    {"outchannels", "channels"},
    {"outfeatures", "units"},
    {"hiddensize", "units"},
    {"embeddingdim", "units"},
    {"outputdim", "units"},
    {"numembeddings", "tokens"},
    {"inputdim", "tokens"},
    {"vocabsize", "tokens"},
    {"kernelsize", "kernel"},
    {"poolsize", "kernel"},
    {"strides", "stride"},
    {"usebias", "bias"},
    {"p", "rate"},
    {"eps", "epsilon"},
    {"init", "weights"},
    {"kernelinitializer", "weights"},
    // Keys.
    {"lr", "learning_rate"},
    {"batchsize", "batch"},
    {"gpus", "devices"},
    {"numgpus", "devices"},
    {"numepochs", "epochs"},
    {"maxepochs", "epochs"},
    {"numclasses", "classes"},
    {"validationsplit", "validation_samples"},
    {"lrscheduler", "schedule"},
    {"lrschedule", "schedule"},
    {"gamma", "factor"},
    {"stepsize", "at"},
    {"milestones", "at"},
    {"betas", "beta1"},
    {"amp", "precision"},
    {"dtype", "precision"},
    {"adamw", "adam"},
    // Options of strategies.
    {"k", "every"},
    {"tau", "every"},
    {"period", "every"},
};

// A thing of other frameworks that has no name here. It is only told where `beside` is a candidate.
struct Advice {
  std::string_view other, beside, text;
};

constexpr std::string_view kLoss = "leave it out: the loss is the cross-entropy", kActivation = "take relu or gelu";

constexpr Advice kAdvice[] = {
    {"softmax", "dense", "leave it out: the loss includes it"},
    {"leakyrelu", "relu", kActivation},
    {"elu", "relu", kActivation},
    {"selu", "relu", kActivation},
    {"silu", "relu", kActivation},
    {"swish", "relu", kActivation},
    {"activation", "bias", "an activation is a layer: write `- relu` after this one"},
    {"batchnorm", "bias", "it is a layer: write `- batch_norm` after this one"},
    {"dropout", "bias", "it is a layer: write `- dropout: 0.5` after this one"},
    {"inputshape", "bias", "leave it out: the data has it"},
    {"loss", "epochs", kLoss},
    {"lossfunction", "epochs", kLoss},
    {"criterion", "epochs", kLoss},
    {"metrics", "epochs", "leave it out: loss and accuracy are always measured"},
};

std::string comparable(std::string_view name) {
  std::string text;
  for (const char c : name)
    if (c != '_' && c != '-') text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (text.size() > 2 && text.ends_with("2d")) text.resize(text.size() - 2);
  return text;
}

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }  // npos + 1 is 0

}  // namespace

std::string other_name_hint(std::string_view written, const std::vector<std::string>& candidates) {
  if (written.size() > 64) return "";
  const std::string_view before = written.substr(0, written.size() - last_part(written).size());
  const std::string other = comparable(last_part(written));
  const auto candidate_of = [&](std::string_view own) {
    // Of names with dots, those of the same section come first, and then those of any other.
    const std::string whole = fmt::format("{}{}", before, own);
    if (const auto same = std::find(candidates.begin(), candidates.end(), whole); same != candidates.end()) return same;
    return std::find_if(candidates.begin(), candidates.end(), [&](const std::string& name) { return name.ends_with(fmt::format(".{}", own)); });
  };
  const auto hint = [](const std::string& name) { return fmt::format("did you mean '{}'?", name); };
  for (const std::string& name : candidates)
    if (name.size() - last_part(name).size() == before.size() && comparable(name) == comparable(written)) return hint(name);
  for (const OtherName& name : kOtherNames)
    if (name.other == other)
      if (const auto found = candidate_of(name.own); found != candidates.end()) return hint(*found);
  for (const Advice& advice : kAdvice)
    if (advice.other == other && candidate_of(advice.beside) != candidates.end()) return std::string(advice.text);
  return "";
}

}  // namespace mgcompare
