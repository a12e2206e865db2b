#include "cuda/tokens.h"

#include "cuda/device.h"
#include "cuda/launch.h"

namespace mgcompare::cuda {
namespace {

// The token that a value stands for; `tokens` if it is none.
__device__ unsigned token_of(float value, unsigned tokens) {
  const bool known = value >= 0 && value < static_cast<float>(tokens) && value == floorf(value);
  return known ? static_cast<unsigned>(value) : tokens;
}

constexpr unsigned kTile = 256;

// Block (token, group of units): each thread sums one unit over the positions with that token, in their order. The block
// reads all tokens in tiles and skips those without its token.
__global__ void __launch_bounds__(kTile)
    sum_of_token(const float* values, std::size_t count, unsigned tokens, const float* gradient, unsigned units, float* table) {
  __shared__ unsigned tile[kTile];
  const unsigned token = blockIdx.x, unit = blockIdx.y * kTile + threadIdx.x;
  float sum = 0;
  wait_for_previous_kernel();
  for (std::size_t first = 0; first < count; first += kTile) {
    const std::size_t at = first + threadIdx.x;
    const unsigned mine = at < count ? token_of(values[at], tokens) : tokens;
    tile[threadIdx.x] = mine;
    if (__syncthreads_or(mine == token)) {
      for (unsigned k = 0; k < kTile; ++k) {
        if (tile[k] == token && unit < units) sum += gradient[(first + k) * units + unit];
      }
    }
    __syncthreads();
  }
  if (unit < units) table[static_cast<std::size_t>(token) * units + unit] = sum;
}

class TokenLayer : public Layer {
 public:
  TokenLayer(CudaDevice& device, const LayerSpec& spec, Port& input, Tensor& output)
      : device_(device), spec_(spec), input_(input), output_(output), tokens_(static_cast<unsigned>(spec.config.tokens)),
        units_(static_cast<unsigned>(spec.output_shape[1])) {}

 protected:
  CudaDevice& device_;
  const LayerSpec spec_;
  Port& input_;
  Tensor& output_;
  unsigned tokens_, units_;
};

class Embedding : public TokenLayer {
 public:
  using TokenLayer::TokenLayer;

  void forward(const Work& work) override {
    const float* const values = input_.values();
    const float* const table = work.weights + spec_.weights.begin;
    float* const out = output_.values();
    const unsigned tokens = tokens_, units = units_;
    for_each_index(device_.compute_stream(), output_.size(work.samples), [=] __device__(std::size_t i) {
      const unsigned token = token_of(values[i / units], tokens);
      out[i] = token < tokens ? table[static_cast<std::size_t>(token) * units + i % units] : nanf("");
    });
  }

  void backward(const Work& work) override {
    const dim3 grid(tokens_, (units_ + kTile - 1) / kTile);
    launch(device_.compute_stream(), grid, kTile, 0, sum_of_token, input_.values(), input_.tensor->size(work.samples), tokens_,
           output_.gradients(), units_, work.gradients + spec_.weights.begin);
  }
};

class OneHot : public TokenLayer {
 public:
  using TokenLayer::TokenLayer;

  void forward(const Work& work) override {
    const float* const values = input_.values();
    float* const out = output_.values();
    const unsigned tokens = tokens_;
    for_each_index(device_.compute_stream(), output_.size(work.samples), [=] __device__(std::size_t i) {
      const unsigned token = token_of(values[i / tokens], tokens);
      out[i] = token == tokens ? nanf("") : token == i % tokens ? 1.0f : 0.0f;
    });
  }

  void backward(const Work&) override {}  // nothing before it learns
};

}  // namespace

std::unique_ptr<Layer> make_embedding(CudaDevice& device, const LayerSpec& spec, Port& input, Tensor& output) {
  return std::make_unique<Embedding>(device, spec, input, output);
}

std::unique_ptr<Layer> make_one_hot(CudaDevice& device, const LayerSpec& spec, Port& input, Tensor& output) {
  return std::make_unique<OneHot>(device, spec, input, output);
}

}  // namespace mgcompare::cuda
