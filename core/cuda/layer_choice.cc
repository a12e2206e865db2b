#include "cuda/layer_choice.h"

#include <set>

#include "cuda/activation.h"
#include "cuda/batch_norm.h"
#include "cuda/convolution.h"
#include "cuda/dense.h"
#include "cuda/dropout.h"
#include "cuda/gelu.h"
#include "cuda/global_pooling.h"
#include "cuda/layer_norm.h"
#include "cuda/library/activation.h"
#include "cuda/library/batch_norm.h"
#include "cuda/library/pooling.h"
#include "cuda/library/recurrent.h"
#include "cuda/library/response_norm.h"
#include "cuda/library/sum.h"
#include "cuda/merge.h"
#include "cuda/pooling.h"
#include "cuda/recurrent.h"
#include "cuda/response_norm.h"
#include "cuda/stem_convolution.h"
#include "cuda/tile_convolution.h"
#include "cuda/tokens.h"

namespace mgcompare::cuda {
namespace {

// Whether a layer computes in float32 only, whatever numerics.precision is.
bool needs_float32(LayerType type) {
  return type == LayerType::layer_norm || type == LayerType::lrn || type == LayerType::embedding || type == LayerType::one_hot;
}

bool is_image(const Shape& shape) { return shape.size() == 3; }

}  // namespace

bool is_elementwise(LayerType type) {
  return activation_of(type) != Activation::none || type == LayerType::gelu || type == LayerType::dropout || type == LayerType::add;
}

LayerChoice::LayerChoice(CudaDevice& device, const NetworkSpec& spec, const Numerics& numerics)
    : device_(device), spec_(spec), numerics_(numerics), fusions_(spec, numerics),
      factors_(numerics.precision == Precision::bf16 ? Element::bf16 : Element::fp32) {}

Fusion LayerChoice::fusion(std::size_t index, const Tensor& input) const {
  Fusion fusion = fusions_.of(index);
  if (fusion.dropout != nullptr && has_own_kernels(spec_.layers[index], fusion, input)) {
    fusion.dropout = nullptr;       // which these kernels leave to its layer
    --fusion.layers;
  }
  return fusion;
}

// Whether a convolution has kernels for its special shape, which read and write planar images.
bool LayerChoice::has_own_kernels(const LayerSpec& layer, const Fusion& fusion, const Tensor& input) const {
  return is_stem(layer, fusion, input) || is_tile(device_, layer, fusion, numerics_.precision);
}

Format LayerChoice::input_format(std::size_t index, const Fusion& fusion, const Tensor& input) const {
  const LayerSpec& layer = spec_.layers[index];
  const LayerType type = layer.config.type;
  if (type == LayerType::conv)
    return has_own_kernels(layer, fusion, input) || reads_samples(layer, input, numerics_.kernels) ? Format{} : Format{factors_, true};
  if (type == LayerType::dense) return {factors_, layer.output_shape.size() == 1 && input.format.channels_last};
  if (gates_of(type) > 0) return {factors_, false};
  if (is_elementwise(type)) return input.format;
  const Element element = needs_float32(type) ? Element::fp32 : input.format.element;
  if (type == LayerType::batch_norm) return {element, layer.input_shapes.front().size() > 1};
  if (type == LayerType::layer_norm || (type == LayerType::lrn && uses_library() && is_in_library(layer))) return {element, false};
  return {element, is_image(layer.input_shapes.front())};
}

Format LayerChoice::output_format(std::size_t index, const Fusion& fusion, const Tensor& input) const {
  const LayerSpec& layer = spec_.layers[index];
  const LayerType type = layer.config.type;
  if (type == LayerType::dense)
    return {index + 1 == spec_.layers.size() ? Element::fp32 : dense_output(layer, factors_, numerics_.kernels), false};
  if (type == LayerType::conv) return has_own_kernels(layer, fusion, input) ? Format{} : Format{factors_, true};
  if (is_elementwise(type)) return input.format;
  return {input.format.element, input.format.channels_last && layer.output_shape.size() > 1};
}

std::unique_ptr<Layer> LayerChoice::make(std::size_t index, Fusion fusion, const std::vector<Port*>& inputs, Tensor& output) const {
  LayerSpec layer = spec_.layers[index];
  const LayerType type = layer.config.type;
  Port& input = *inputs.front();
  if (uses_library())
    if (auto made = from_library(layer, fusion, inputs, output)) return made;
  if (fusion.feeds_normalization) {
    layer.bias = {};
    fusion.activation = Activation::none;
  }
  if (type == LayerType::conv) {
    if (is_stem(layer, fusion, *input.tensor)) return make_stem_convolution(device_, layer, fusion, numerics_.precision, input, output);
    if (is_tile(device_, layer, fusion, numerics_.precision)) return make_tile_convolution(device_, layer, fusion, input, output);
    return make_convolution(device_, layer, fusion, index, numerics_, input, output);
  }
  if (type == LayerType::dense) return make_dense(device_, layer, fusion.activation, numerics_, input, output);
  if (type == LayerType::max_pool || type == LayerType::average_pool)
    return make_pooling(device_, layer, type == LayerType::average_pool || numerics_.average_pooling, input, output);
  if (type == LayerType::dropout) return make_dropout(device_, layer, index, input, output);
  if (type == LayerType::batch_norm) return make_batch_norm(device_, layer, fusions_.left_to(index), fusion.activation, inputs, output);
  if (gates_of(type) > 0) {
    const auto begin = spec_.layers.begin() + static_cast<std::ptrdiff_t>(index);
    const std::vector<LayerSpec> layers(begin, begin + static_cast<std::ptrdiff_t>(fusion.layers));
    // How fast waves are in fp32 has not been measured.
    return uses_library() || numerics_.precision == Precision::fp32 ? library::make_recurrent(device_, layers, numerics_.precision, input, output)
                          : make_recurrent(device_, layers, numerics_.precision, input, output);
  }
  if (type == LayerType::add) return make_sum(device_, fusion.activation, inputs, output);
  if (type == LayerType::concat) return make_concatenation(device_, inputs, output);
  if (type == LayerType::embedding) return make_embedding(device_, layer, input, output);
  if (type == LayerType::one_hot) return make_one_hot(device_, layer, input, output);
  if (type == LayerType::global_average_pool) return make_global_pooling(device_, input, output);
  if (type == LayerType::layer_norm) return make_layer_norm(device_, layer, input, output);
  if (type == LayerType::gelu) return make_gelu(device_, input, output);
  if (type == LayerType::lrn) return make_response_norm(device_, layer, input, output);
  return make_activation(device_, fusion.activation, input, output);
}

bool LayerChoice::is_in_library(const LayerSpec& layer) const {
  switch (layer.config.type) {
    case LayerType::embedding:
    case LayerType::one_hot:
    case LayerType::layer_norm:
    case LayerType::gelu:
    case LayerType::dropout: return false;  // its masks are the same on all devices
    case LayerType::lrn: return library::normalizes(layer);
    default: return true;
  }
}

std::unique_ptr<Layer> LayerChoice::from_library(const LayerSpec& layer, const Fusion& fusion, const std::vector<Port*>& inputs,
                                                 Tensor& output) const {
  const LayerType type = layer.config.type;
  Port& input = *inputs.front();
  if (!is_in_library(layer)) return nullptr;
  if (activation_of(type) != Activation::none) return library::make_activation(device_, fusion.activation, input, output);
  if (type == LayerType::max_pool || type == LayerType::average_pool)
    return library::make_pooling(device_, layer, type == LayerType::average_pool || numerics_.average_pooling, input, output);
  if (type == LayerType::global_average_pool) return library::make_global_pooling(device_, layer, input, output);
  if (type == LayerType::batch_norm) return library::make_batch_norm(device_, layer, input, output);
  if (type == LayerType::add) return library::make_sum(device_, inputs, output);
  if (type == LayerType::lrn) return library::make_response_norm(device_, layer, input, output);
  return nullptr;
}

std::vector<std::string> LayerChoice::computed_without_library() const {
  if (!uses_library()) return {};
  std::set<std::string> types;
  for (const LayerSpec& layer : spec_.layers)
    if (!is_in_library(layer)) types.emplace(to_string(layer.config.type));
  std::vector<std::string> all(types.begin(), types.end());
  for (const char* part : {"the batch", "the order and type of tensors", "sums of gradients", "the loss", "the update"}) all.emplace_back(part);
  return all;
}

}  // namespace mgcompare::cuda
