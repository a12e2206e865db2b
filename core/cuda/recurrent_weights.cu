#include "cuda/recurrent_weights.h"

#include <algorithm>

#include "cuda/pack.h"
#include "cuda/recurrent_cells.h"

namespace mgcompare::cuda {
namespace {

constexpr unsigned kBlocks = 32;    // per part

// Block (row, part).
template <class T> __global__ void load_parts(const RecurrentPart* parts, const float* vector, T* weights, float* biases) {
  const RecurrentPart part = parts[blockIdx.y];
  wait_for_previous_kernel();
  for (std::size_t row = blockIdx.x; row < part.rows; row += gridDim.x) {
    const float* const from = vector + part.flat + row * part.columns;
    const std::size_t to = part.place + row * part.spacing;
    for (std::size_t i = threadIdx.x; i < part.columns; i += blockDim.x) {
      if (part.is_bias) biases[to + i] = from[i];
      else weights[to + i] = narrowed<T>(from[i]);
    }
  }
}

__global__ void store_parts(const RecurrentPart* parts, const float* weights, const float* biases, float* vector) {
  const RecurrentPart part = parts[blockIdx.y];
  wait_for_previous_kernel();
  for (std::size_t row = blockIdx.x; row < part.rows; row += gridDim.x) {
    const float* const from = part.is_bias ? biases + part.gradient_place : weights + part.place + row * part.spacing;
    float* const to = vector + part.flat + row * part.columns;
    for (std::size_t i = threadIdx.x; i < part.columns; i += blockDim.x) to[i] = from[i];
  }
}

}  // namespace

RecurrentWeights::RecurrentWeights(CudaDevice& device, const RecurrentShape& shape, const std::vector<LayerSpec>& layers, Element element)
    : element_(element), input_size_(shape.gate_rows() * shape.row) {
  const std::size_t size = input_size_ + shape.layers * shape.state_rows() * shape.width;
  weights_ = device_array<std::uint8_t>(device, size * bytes_of(element));
  biases_ = device_array<float>(device, shape.layers * 2 * shape.gate_rows());
  gradients_ = device_array<float>(device, size);
  bias_gradients_ = device_array<float>(device, shape.layers * RecurrentCells::kSums * shape.width);
  std::vector<RecurrentPart> parts;
  for (std::size_t index = 0; index < layers.size(); ++index) add_parts(shape, layers[index], index, parts);
  parts_ = device_array<RecurrentPart>(device, parts.size());
  device.copy_to_device(parts_.data(), parts.data(), parts.size() * sizeof(RecurrentPart));
  device.synchronize();
}

void RecurrentWeights::add_parts(const RecurrentShape& shape, const LayerSpec& layer, std::size_t index, std::vector<RecurrentPart>& parts) const {
  for (const bool of_state : {false, true}) {
    const bool of_samples = index == 0 && !of_state;
    const std::size_t columns = of_samples ? shape.features : shape.units, spacing = of_samples ? shape.row : shape.width;
    // The rows of a layer's input are behind those of the state of the layer before.
    const std::size_t begin = of_samples ? 0
                              : of_state ? input_size_ + index * shape.state_rows() * spacing
                                         : input_size_ + ((index - 1) * shape.state_rows() + shape.gate_rows()) * spacing;
    const Range& matrices = of_state ? layer.recurrent : layer.weights;
    const Range& biases = of_state ? layer.recurrent_bias : layer.bias;
    for (std::size_t gate = 0; gate < shape.gates; ++gate) {
      parts.push_back({matrices.begin + gate * shape.units * columns, begin + gate * shape.width * spacing, 0, shape.units, columns, spacing, false});
      parts.push_back({biases.begin + gate * shape.units, ((index * 2 + of_state) * shape.gates + gate) * shape.width,
                       (index * RecurrentCells::kSums + RecurrentCells::sum_of(shape.type, gate, of_state)) * shape.width, 1, shape.units, 0, true});
    }
  }
}

void RecurrentWeights::load(cudaStream_t stream, const float* vector) const {
  with_element(element_, [&](auto type) {
    using T = decltype(type);
    launch(stream, dim3(kBlocks, static_cast<unsigned>(parts_.size())), kThreads, 0, load_parts<T>, parts_.data(), vector,
           reinterpret_cast<T*>(weights_.data()), biases_.data());
  });
}

void RecurrentWeights::store_gradients(cudaStream_t stream, float* vector) const {
  launch(stream, dim3(kBlocks, static_cast<unsigned>(parts_.size())), kThreads, 0, store_parts, parts_.data(), gradients_.data(),
         bias_gradients_.data(), vector);
}

}  // namespace mgcompare::cuda
