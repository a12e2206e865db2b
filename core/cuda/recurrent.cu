#include "cuda/recurrent.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "cuda/device.h"
#include "cuda/launch.h"
#include "mgcompare/error.h"

namespace mgcompare::cuda {
namespace {

constexpr char kWhat[] = "computing a recurrent layer";
constexpr unsigned kRowThreads = 128;

// One block per row of `to`: from (first, second, size) to (second, first, size).
__global__ void swap_axes(const float* from, float* to, std::size_t first, std::size_t second, std::size_t size) {
  const std::size_t row = blockIdx.x;
  const float* const line = from + (row % first * second + row / first) * size;
  for (std::size_t i = threadIdx.x; i < size; i += blockDim.x) to[row * size + i] = line[i];
}

// cuDNN's descriptors of one batch size, and the memory that it needs.
struct Sequences {
  cudnnRNNDataDescriptor_t in = nullptr, out = nullptr;
  cudnnTensorDescriptor_t state = nullptr;
  std::size_t workspace = 0, reserve = 0;

  Sequences() {
    check(cudnnCreateRNNDataDescriptor(&in), kWhat);
    check(cudnnCreateRNNDataDescriptor(&out), kWhat);
    check(cudnnCreateTensorDescriptor(&state), kWhat);
  }
  Sequences(const Sequences&) = delete;
  Sequences& operator=(const Sequences&) = delete;
  ~Sequences() {
    cudnnDestroyRNNDataDescriptor(in);
    cudnnDestroyRNNDataDescriptor(out);
    cudnnDestroyTensorDescriptor(state);
  }
};

// A run of parameters that is contiguous in the network's vector and in cuDNN's.
struct Piece {
  std::size_t ours, theirs, size;
};

class Recurrent : public Layer {
 public:
  Recurrent(CudaDevice& device, const LayerSpec& spec, Precision precision, Port& input, Tensor& output)
      : device_(device), spec_(spec), input_(input), output_(output), positions_(spec.input_shapes.front()[0]),
        features_(spec.input_shapes.front()[1]), units_(spec.config.channels) {
    check(cudnnCreateRNNDescriptor(&layer_), kWhat);
    check(cudnnCreateDropoutDescriptor(&no_dropout_), kWhat);
    check(cudnnSetDropoutDescriptor(no_dropout_, device.handles().cudnn, 0, nullptr, 0, 0), kWhat);
    check(cudnnSetRNNDescriptor_v8(layer_, CUDNN_RNN_ALGO_STANDARD,
                                   spec.config.type == LayerType::gru ? CUDNN_GRU : CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS,
                                   CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT,
                                   precision == Precision::fp32 ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH,
                                   static_cast<int>(features_), static_cast<int>(units_), static_cast<int>(units_), 1,
                                   no_dropout_, CUDNN_RNN_PADDED_IO_DISABLED),
          kWhat);
    std::size_t bytes = 0;
    check(cudnnGetRNNWeightSpaceSize(device.handles().cudnn, layer_, &bytes), kWhat);
    weights_ = Array<float>(device, (bytes + sizeof(float) - 1) / sizeof(float));
    gradients_ = Array<float>(device, weights_.size());
    device.zero(weights_.data(), weights_.size() * sizeof(float));
    find_pieces(bytes);
  }
  ~Recurrent() override {
    cudnnDestroyRNNDescriptor(layer_);
    cudnnDestroyDropoutDescriptor(no_dropout_);
  }

  void reserve(std::size_t samples) override {
    const std::size_t rows = positions_ * samples;
    inputs_ = device_array<float>(device_, rows * features_);
    input_gradients_ = device_array<float>(device_, rows * features_);
    states_ = device_array<float>(device_, rows * units_);
    state_gradients_ = device_array<float>(device_, rows * units_);
    const Sequences& sequences = this->sequences(samples);
    reserve_ = device_array<std::uint8_t>(device_, sequences.reserve);
    work_ = device_array<std::uint8_t>(device_, sequences.workspace > kWorkspaceBytes ? sequences.workspace : 0);
  }

  // A copy, because slices of the flat vector may begin at any element.
  void prepare(const Work& work) override {
    for (const Piece& piece : pieces_)
      device_.copy(weights_.data() + piece.theirs, work.weights + piece.ours, piece.size * sizeof(float));
  }

  void forward(const Work& work) override {
    if (work.samples == 0) return;
    const Sequences& sequences = fitting(work.samples);
    swap(input_.values(), inputs_.data(), work.samples, positions_, features_);
    check(cudnnRNNForward(device_.handles().cudnn, layer_, work.training ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE,
                          nullptr, sequences.in, inputs_.data(), sequences.out, states_.data(), sequences.state, nullptr,
                          nullptr, sequences.state, nullptr, nullptr, weight_bytes(), weights_.data(), sequences.workspace,
                          workspace(), work.training ? sequences.reserve : 0, work.training ? reserve_.data() : nullptr),
          kWhat);
    if (spec_.config.return_sequences) {
      swap(states_.data(), output_.values(), positions_, work.samples, units_);
    } else {
      const std::size_t last = work.samples * units_;
      device_.copy(output_.values(), states_.data() + (positions_ - 1) * last, last * sizeof(float));
    }
  }

  void backward(const Work& work) override {
    if (work.samples == 0) {
      const Range parameters = spec_.parameters();
      device_.zero(work.gradients + parameters.begin, parameters.size() * sizeof(float));
      return;
    }
    if (!work.training)
      throw Error("layer '" + spec_.config.name + "' has no gradient of an evaluation pass: begin with a training pass");
    const Sequences& sequences = fitting(work.samples);
    const cudnnHandle_t cudnn = device_.handles().cudnn;
    spread_output_gradient(work.samples);
    check(cudnnRNNBackwardData_v8(cudnn, layer_, nullptr, sequences.out, states_.data(), state_gradients_.data(), sequences.in,
                                  input_gradients_.data(), sequences.state, nullptr, nullptr, nullptr, sequences.state, nullptr,
                                  nullptr, nullptr, weight_bytes(), weights_.data(), sequences.workspace, workspace(),
                                  sequences.reserve, reserve_.data()),
          kWhat);
    device_.zero(gradients_.data(), weight_bytes());  // cuDNN adds to it
    check(cudnnRNNBackwardWeights_v8(cudnn, layer_, CUDNN_WGRAD_MODE_ADD, nullptr, sequences.in, inputs_.data(),
                                     sequences.state, nullptr, sequences.out, states_.data(), weight_bytes(),
                                     gradients_.data(), sequences.workspace, workspace(), sequences.reserve, reserve_.data()),
          kWhat);
    for (const Piece& piece : pieces_)
      device_.copy(work.gradients + piece.ours, gradients_.data() + piece.theirs, piece.size * sizeof(float));
    if (input_.tensor->needs_gradient)
      swap(input_gradients_.data(), input_.gradients(), positions_, work.samples, features_);
  }

 private:
  std::size_t weight_bytes() const { return weights_.size() * sizeof(float); }
  void* workspace() const { return work_.empty() ? device_.handles().workspace : work_.data(); }

  void swap(const float* from, float* to, std::size_t first, std::size_t second, std::size_t size) const {
    swap_axes<<<static_cast<unsigned>(first * second), kRowThreads, 0, device_.compute_stream()>>>(from, to, first, second,
                                                                                                 size);
    check(cudaGetLastError(), kWhat);
  }

  // The gradient of all states, zero where the output has only the last one.
  void spread_output_gradient(std::size_t samples) const {
    if (spec_.config.return_sequences) return swap(output_.gradients(), state_gradients_.data(), samples, positions_, units_);
    const std::size_t last = samples * units_, before = (positions_ - 1) * last;
    device_.zero(state_gradients_.data(), before * sizeof(float));
    device_.copy(state_gradients_.data() + before, output_.gradients(), last * sizeof(float));
  }

  // Asks cuDNN where it keeps each gate's weights and biases.
  void find_pieces(std::size_t bytes) {
    cudnnTensorDescriptor_t matrix_shape = nullptr, bias_shape = nullptr;
    check(cudnnCreateTensorDescriptor(&matrix_shape), kWhat);
    check(cudnnCreateTensorDescriptor(&bias_shape), kWhat);
    const std::size_t gates = gates_of(spec_.config.type);
    std::vector<Piece> matrices, biases;
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    for (std::size_t k = 0; k < 2 * gates && status == CUDNN_STATUS_SUCCESS; ++k) {
      void *matrix = nullptr, *bias = nullptr;
      status = cudnnGetRNNWeightParams(device_.handles().cudnn, layer_, 0, bytes, weights_.data(), static_cast<int>(k),
                                       matrix_shape, &matrix, bias_shape, &bias);
      const bool of_state = k >= gates;
      const std::size_t size = units_ * (of_state ? units_ : features_), gate = k % gates;
      const auto at = [&](const void* theirs) { return static_cast<std::size_t>(static_cast<const float*>(theirs) - weights_.data()); };
      matrices.push_back({(of_state ? spec_.recurrent : spec_.weights).begin + gate * size, at(matrix), size});
      biases.push_back({(of_state ? spec_.recurrent_bias : spec_.bias).begin + gate * units_, at(bias), units_});
    }
    cudnnDestroyTensorDescriptor(matrix_shape);
    cudnnDestroyTensorDescriptor(bias_shape);
    check(status, kWhat);
    matrices.insert(matrices.end(), biases.begin(), biases.end());
    for (const Piece& piece : matrices) {
      if (!pieces_.empty() && pieces_.back().ours + pieces_.back().size == piece.ours &&
          pieces_.back().theirs + pieces_.back().size == piece.theirs) {
        pieces_.back().size += piece.size;
      } else {
        pieces_.push_back(piece);
      }
    }
  }

  const Sequences& sequences(std::size_t samples) {
    const auto found = sequences_.find(samples);
    if (found != sequences_.end()) return found->second;
    Sequences& made = sequences_[samples];
    const int n = static_cast<int>(samples), times = static_cast<int>(positions_), units = static_cast<int>(units_);
    const std::vector<int> lengths(samples, times);
    const auto describe = [&](cudnnRNNDataDescriptor_t data, int size) {
      check(cudnnSetRNNDataDescriptor(data, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, times, n, size,
                                      lengths.data(), nullptr),
            kWhat);
    };
    describe(made.in, static_cast<int>(features_));
    describe(made.out, units);
    const int shape[] = {1, n, units}, strides[] = {n * units, units, 1};
    check(cudnnSetTensorNdDescriptor(made.state, CUDNN_DATA_FLOAT, 3, shape, strides), kWhat);
    std::size_t inference = 0, none = 0;
    const cudnnHandle_t cudnn = device_.handles().cudnn;
    check(cudnnGetRNNTempSpaceSizes(cudnn, layer_, CUDNN_FWD_MODE_TRAINING, made.in, &made.workspace, &made.reserve), kWhat);
    check(cudnnGetRNNTempSpaceSizes(cudnn, layer_, CUDNN_FWD_MODE_INFERENCE, made.in, &inference, &none), kWhat);
    made.workspace = std::max(made.workspace, inference);
    return made;
  }

  // The descriptors of a batch that is at most as large as the one that reserve() was called for.
  const Sequences& fitting(std::size_t samples) {
    const Sequences& sequences = this->sequences(samples);
    if (sequences.reserve > reserve_.size() || sequences.workspace > std::max(kWorkspaceBytes, work_.size())) {
      throw Error("layer '" + spec_.config.name + "' needs more of cuDNN's memory for " + std::to_string(samples) +
                  " samples than for a larger batch: report this with the config");
    }
    return sequences;
  }

  CudaDevice& device_;
  const LayerSpec spec_;
  Port& input_;
  Tensor& output_;
  std::size_t positions_, features_, units_;
  cudnnRNNDescriptor_t layer_ = nullptr;
  cudnnDropoutDescriptor_t no_dropout_ = nullptr;
  std::map<std::size_t, Sequences> sequences_;
  std::vector<Piece> pieces_;
  Array<float> weights_, gradients_;  // in cuDNN's layout
  // (time, sample, feature)
  Array<float> inputs_, input_gradients_, states_, state_gradients_;
  Array<std::uint8_t> reserve_;     // cuDNN's, from the forward to the backward pass
  Array<std::uint8_t> work_;        // instead of the device's workspace, where that is too small
};

}  // namespace

std::unique_ptr<Layer> make_recurrent(CudaDevice& device, const LayerSpec& spec, Precision precision, Port& input,
                                      Tensor& output) {
  return std::make_unique<Recurrent>(device, spec, precision, input, output);
}

}  // namespace mgcompare::cuda
