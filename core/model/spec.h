#pragma once

// A network with inferred shapes, resolved inputs and the layout of its parameters in one vector. Independent of devices.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "config/config.h"
#include "mgcompare/batch.h"
#include "mgcompare/error.h"
#include "mgcompare/replica.h"
#include "config/sample_spec.h"

namespace mgcompare {

struct LayerSpec {
  LayerConfig config;               // with `tokens` of the data where it was 0
  std::vector<int> inputs;          // indices of layers; -1 is the sample itself
  std::vector<Shape> input_shapes;  // without the batch axis
  Shape output_shape;
  Range weights;                    // in the parameter vector; empty if there are none
  Range bias;                       // conv, dense, gru, lstm: bias; normalisations: weights is gamma, bias is beta
  Range recurrent, recurrent_bias;  // gru, lstm: weights of the state, and a bias of its own; gates are rows
  Range buffers;                    // batch_norm: running mean, then running variance, in the buffer vector

  // All of the layer's parameters, which are consecutive.
  Range parameters() const {
    return {weights.begin, std::max({weights.end, bias.end, recurrent.end, recurrent_bias.end})};
  }
};

struct NetworkSpec {
  std::string name;
  Shape sample_shape;
  std::vector<LayerSpec> layers;    // the last layer outputs the logits
  std::vector<Part> parts;
  std::size_t parameters = 0;
  std::size_t buffers = 0;
  std::size_t classes = 0;
  std::size_t targets = 1;          // per sample
};

// An invalid layer, and its place in the config.
class NetworkError : public Error {
 public:
  NetworkError(const Place& place, const std::string& text) : Error(text), place_(place) {}
  const Place& place() const { return place_; }

 private:
  Place place_;
};

// Throws NetworkError if shapes do not match, and Error if there are no layers or no samples.
NetworkSpec make_spec(const ModelConfig& model, const SampleSpec& samples, bool decay_biases);

// The samples as this network reads them: `tokens` is not 0 if a layer reads tokens, and 0 otherwise.
SampleSpec as_read(SampleSpec samples, const NetworkSpec& network);

// Gates of a recurrent layer; 0 for other layers.
std::size_t gates_of(LayerType type);

// Initial weights, computed on the host: bitwise equal for all devices and numbers of ranks.
std::vector<float> initial_weights(const NetworkSpec& spec, std::uint64_t seed);
// Initial buffers: running mean 0, running variance 1.
std::vector<float> initial_buffers(const NetworkSpec& spec);

}  // namespace mgcompare
