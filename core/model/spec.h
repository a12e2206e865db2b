#pragma once

// The network resolved: shapes inferred, inputs found, parameters laid out in one vector. Device-neutral.

#include <cstdint>
#include <string>
#include <vector>

#include "config/config.h"
#include "mgcompare/batch.h"
#include "mgcompare/error.h"
#include "mgcompare/replica.h"

namespace mgcompare {

struct LayerSpec {
  LayerConfig config;
  std::vector<int> inputs;          // indices of layers; -1 is the sample itself
  std::vector<Shape> input_shapes;  // without the batch axis
  Shape output_shape;
  Range weights;                    // in the flat vector; empty where there are none
  Range bias;                       // conv, dense: bias; batch_norm: weights is gamma, bias is beta
  Range buffers;                    // batch_norm: running mean, then running variance, in the flat buffer vector
};

struct NetworkSpec {
  std::string name;
  Shape sample_shape;
  std::vector<LayerSpec> layers;    // the last one's output is the logits
  std::vector<Part> parts;
  std::size_t parameters = 0;
  std::size_t buffers = 0;
  std::size_t classes = 0;
};

// A layer that does not fit, and where it stands.
class NetworkError : public Error {
 public:
  NetworkError(const Place& place, const std::string& text) : Error(text), place_(place) {}
  const Place& place() const { return place_; }

 private:
  Place place_;
};

// Throws NetworkError when shapes do not fit, and Error where there is no layer or no sample at all.
NetworkSpec make_spec(const ModelConfig& model, const Shape& sample_shape, std::size_t classes, bool decay_biases);

// Initial weights, drawn on the host: the same bits on every device, for every number of ranks.
std::vector<float> initial_weights(const NetworkSpec& spec, std::uint64_t seed);
// Initial buffers: running mean 0, running variance 1.
std::vector<float> initial_buffers(const NetworkSpec& spec);

}  // namespace mgcompare
