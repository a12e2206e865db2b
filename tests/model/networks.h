#pragma once

// The shipped networks and small ones, as code.

#include <string>
#include <vector>

#include "config/keys.h"

namespace mgcompare::testing {

inline LayerConfig layer(const std::string& type) { return default_layer(kind_named<LayerType>(type)); }

inline LayerConfig convolution(std::size_t channels, std::size_t kernel, const std::string& weights = "xavier") {
  LayerConfig config = layer("conv");
  config.channels = channels;
  config.kernel[0] = config.kernel[1] = kernel;
  config.weights.kind = kind_named<InitializerKind>(weights);
  return config;
}

inline LayerConfig dense(std::size_t units, const std::string& weights = "xavier") {
  LayerConfig config = layer("dense");
  config.channels = units;
  config.weights.kind = kind_named<InitializerKind>(weights);
  return config;
}

inline LayerConfig pool(const std::string& type, std::size_t window, std::size_t stride, std::size_t padding = 0) {
  LayerConfig config = layer(type);
  for (int axis : {0, 1}) {
    config.kernel[axis] = window;
    config.stride[axis] = stride;
    config.padding[axis] = padding;
  }
  return config;
}

inline LayerConfig max_pool(std::size_t window) { return pool("max_pool", window, window); }

inline LayerConfig dropout(double rate) {
  LayerConfig config = layer("dropout");
  config.rate = rate;
  return config;
}

inline LayerConfig recurrent(const std::string& type, std::size_t units, bool return_sequences = false) {
  LayerConfig config = layer(type);
  config.channels = units;
  config.return_sequences = return_sequences;
  config.weights.kind = InitializerKind::glorot_uniform;
  return config;
}

inline LayerConfig embedding(std::size_t units) {
  LayerConfig config = layer("embedding");
  config.channels = units;
  return config;
}

inline LayerConfig per_position(LayerConfig config) {
  config.per_position = true;
  return config;
}

inline LayerConfig response_norm(std::size_t radius, double alpha, double beta, double offset) {
  LayerConfig config = layer("lrn");
  config.radius = radius;
  config.alpha = alpha;
  config.beta = beta;
  config.offset = offset;
  return config;
}

inline LayerConfig named(LayerConfig config, const std::string& name, const std::vector<std::string>& inputs = {}) {
  config.name = name;
  config.inputs = inputs;
  return config;
}

inline ModelConfig lenet() {
  return {"lenet",
          {convolution(20, 5), layer("tanh"), max_pool(2), convolution(50, 5), layer("tanh"), max_pool(2),
           layer("flatten"), dense(500), layer("tanh"), dense(10)}};
}

inline ModelConfig mlp() {
  return {"mlp", {layer("flatten"), dense(128), layer("relu"), dense(64), layer("relu"), dense(10)}};
}

inline ModelConfig keras_cnn() {
  const std::string glorot = "glorot_uniform";
  return {"keras_cnn",
          {convolution(32, 3, glorot), layer("relu"), convolution(32, 3, glorot), layer("relu"), max_pool(2),
           dropout(0.25), layer("flatten"), dense(128, glorot), layer("relu"), dropout(0.5), dense(10, glorot)}};
}

inline ModelConfig keras_bn_cnn() {
  const std::string glorot = "glorot_uniform";
  return {"keras_bn_cnn",
          {convolution(32, 3, glorot), layer("relu"), convolution(256, 3, glorot), layer("relu"), layer("batch_norm"),
           convolution(128, 3, glorot), layer("relu"), max_pool(2), dropout(0.25), layer("flatten"),
           dense(128, glorot), layer("relu"), dropout(0.5), dense(10, glorot)}};
}

// Reads sequences; "gru" or "lstm".
inline ModelConfig stacked(const std::string& type) {
  return {"stacked_" + type, {recurrent(type, 16, true), recurrent(type, 12), dense(10)}};
}

}  // namespace mgcompare::testing
