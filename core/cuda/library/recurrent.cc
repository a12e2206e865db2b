#include "cuda/library/recurrent.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cuda/device.h"
#include "cuda/recurrent.h"
#include "cuda/status.h"
#include "cuda/transpose.h"
#include "mgcompare/error.h"

namespace mgcompare::cuda::library {
namespace {

constexpr char kWhat[] = "computing a recurrent layer";
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
  Recurrent(CudaDevice& device, std::vector<LayerSpec> layers, Precision precision, Port& input, Tensor& output)
      : device_(device), layers_(std::move(layers)), input_(input), output_(output),
        positions_(first().input_shapes.front()[0]), features_(first().input_shapes.front()[1]),
        units_(first().config.channels), element_(input.tensor->format.element) {
    check(cudnnCreateRNNDescriptor(&network_), kWhat);
    check(cudnnCreateDropoutDescriptor(&no_dropout_), kWhat);
    check(cudnnSetDropoutDescriptor(no_dropout_, device.handles().cudnn, 0, nullptr, 0, 0), kWhat);
    check(cudnnSetRNNDescriptor_v8(network_, CUDNN_RNN_ALGO_STANDARD,
                                   first().config.type == LayerType::gru ? CUDNN_GRU : CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS,
                                   CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, data_type(), CUDNN_DATA_FLOAT,
                                   precision == Precision::fp32 ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH,
                                   static_cast<int>(features_), static_cast<int>(units_), static_cast<int>(units_),
                                   static_cast<int>(layers_.size()), no_dropout_, CUDNN_RNN_PADDED_IO_DISABLED),
          kWhat);
    std::size_t bytes = 0;
    check(cudnnGetRNNWeightSpaceSize(device.handles().cudnn, network_, &bytes), kWhat);
    weights_ = device_array<std::uint8_t>(device, bytes);
    gradients_ = device_array<std::uint8_t>(device, bytes);
    device.zero(weights_.data(), bytes);
    find_pieces();
  }
  ~Recurrent() override {
    cudnnDestroyRNNDescriptor(network_);
    cudnnDestroyDropoutDescriptor(no_dropout_);
  }

  void reserve(std::size_t samples) override {
    const auto rows_of = [&](std::size_t size) { return device_array<std::uint8_t>(device_, bytes(positions_ * samples * size)); };
    inputs_ = rows_of(features_);
    input_gradients_ = rows_of(features_);
    states_ = rows_of(units_);
    state_gradients_ = rows_of(units_);
    const Sequences& sequences = this->sequences(samples);
    reserve_ = device_array<std::uint8_t>(device_, sequences.reserve);
    work_ = device_array<std::uint8_t>(device_, sequences.workspace > kWorkspaceBytes ? sequences.workspace : 0);
  }

  // A copy, because slices of the flat vector may begin at any element.
  void prepare(const Work& work) override {
    for (const Piece& piece : pieces_)
      convert(device_.compute_stream(), piece.size, work.weights + piece.ours, Element::fp32,
              weights_.data() + bytes(piece.theirs), element_);
  }

  void forward(const Work& work) override {
    if (work.samples == 0) return;
    const Sequences& sequences = fitting(work.samples);
    swap(input_.tensor->value, inputs_.data(), work.samples, positions_, features_);
    check(cudnnRNNForward(device_.handles().cudnn, network_, work.training ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE,
                          nullptr, sequences.in, inputs_.data(), sequences.out, states_.data(), sequences.state, nullptr,
                          nullptr, sequences.state, nullptr, nullptr, weights_.size(), weights_.data(), sequences.workspace,
                          workspace(), work.training ? sequences.reserve : 0, work.training ? reserve_.data() : nullptr),
          kWhat);
    if (returns_sequences()) {
      swap(states_.data(), output_.value, positions_, work.samples, units_);
    } else {
      const std::size_t last = bytes(work.samples * units_);
      device_.copy(output_.value, states_.data() + (positions_ - 1) * last, last);
    }
  }

  void backward(const Work& work) override {
    if (!begin_recurrent_backward(device_, layers_, work)) return;
    const Sequences& sequences = fitting(work.samples);
    const cudnnHandle_t cudnn = device_.handles().cudnn;
    spread_output_gradient(work.samples);
    check(cudnnRNNBackwardData_v8(cudnn, network_, nullptr, sequences.out, states_.data(), state_gradients_.data(), sequences.in,
                                  input_gradients_.data(), sequences.state, nullptr, nullptr, nullptr, sequences.state, nullptr,
                                  nullptr, nullptr, weights_.size(), weights_.data(), sequences.workspace, workspace(),
                                  sequences.reserve, reserve_.data()),
          kWhat);
    device_.zero(gradients_.data(), gradients_.size());  // cuDNN adds to it
    check(cudnnRNNBackwardWeights_v8(cudnn, network_, CUDNN_WGRAD_MODE_ADD, nullptr, sequences.in, inputs_.data(),
                                     sequences.state, nullptr, sequences.out, states_.data(), weights_.size(),
                                     gradients_.data(), sequences.workspace, workspace(), sequences.reserve, reserve_.data()),
          kWhat);
    for (const Piece& piece : pieces_)
      convert(device_.compute_stream(), piece.size, gradients_.data() + bytes(piece.theirs), element_,
              work.gradients + piece.ours, Element::fp32);
    if (input_.tensor->needs_gradient) swap(input_gradients_.data(), input_.gradient, positions_, work.samples, features_);
  }

 private:
  const LayerSpec& first() const { return layers_.front(); }
  bool returns_sequences() const { return layers_.back().config.return_sequences; }
  cudnnDataType_t data_type() const { return element_ == Element::bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT; }
  std::size_t bytes(std::size_t elements) const { return elements * bytes_of(element_); }
  void* workspace() const { return work_.empty() ? device_.handles().workspace : work_.data(); }

  void swap(const void* from, void* to, std::size_t first, std::size_t second, std::size_t size) const {
    swap_axes(device_.compute_stream(), element_, first, second, size, from, size, to, size);
  }

  // The gradient of all states, zero where the output has only the last one.
  void spread_output_gradient(std::size_t samples) const {
    if (returns_sequences()) return swap(output_.gradient, state_gradients_.data(), samples, positions_, units_);
    const std::size_t last = bytes(samples * units_), before = (positions_ - 1) * last;
    device_.zero(state_gradients_.data(), before);
    device_.copy(state_gradients_.data() + before, output_.gradient, last);
  }

  // Asks cuDNN where it keeps the weights and biases of each gate.
  void find_pieces() {
    std::vector<Piece> matrices, biases;
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
      const LayerSpec& spec = layers_[layer];
      const std::size_t gates = gates_of(spec.config.type);
      for (std::size_t k = 0; k < 2 * gates; ++k) {
        const bool of_state = k >= gates;
        const std::size_t size = units_ * (of_state || layer > 0 ? units_ : features_), gate = k % gates;
        const auto [matrix, bias] = places(layer, k);
        matrices.push_back({(of_state ? spec.recurrent : spec.weights).begin + gate * size, matrix, size});
        biases.push_back({(of_state ? spec.recurrent_bias : spec.bias).begin + gate * units_, bias, units_});
      }
    }
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

  // The indices in cuDNN's vector of matrix `k` of a layer and of its bias.
  std::pair<std::size_t, std::size_t> places(std::size_t layer, std::size_t k) const {
    cudnnTensorDescriptor_t matrix_shape = nullptr, bias_shape = nullptr;
    check(cudnnCreateTensorDescriptor(&matrix_shape), kWhat);
    check(cudnnCreateTensorDescriptor(&bias_shape), kWhat);
    void *matrix = nullptr, *bias = nullptr;
    const cudnnStatus_t status =
        cudnnGetRNNWeightParams(device_.handles().cudnn, network_, static_cast<int>(layer), weights_.size(), weights_.data(),
                                static_cast<int>(k), matrix_shape, &matrix, bias_shape, &bias);
    cudnnDestroyTensorDescriptor(matrix_shape);
    cudnnDestroyTensorDescriptor(bias_shape);
    check(status, kWhat);
    const auto index = [&](const void* at) {
      return static_cast<std::size_t>(static_cast<const std::uint8_t*>(at) - weights_.data()) / bytes(1);
    };
    return {index(matrix), index(bias)};
  }

  const Sequences& sequences(std::size_t samples) {
    const auto found = sequences_.find(samples);
    if (found != sequences_.end()) return found->second;
    Sequences& made = sequences_[samples];
    const int n = static_cast<int>(samples), times = static_cast<int>(positions_), units = static_cast<int>(units_);
    const std::vector<int> lengths(samples, times);
    const auto describe = [&](cudnnRNNDataDescriptor_t data, int size) {
      check(cudnnSetRNNDataDescriptor(data, data_type(), CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, times, n, size,
                                      lengths.data(), nullptr),
            kWhat);
    };
    describe(made.in, static_cast<int>(features_));
    describe(made.out, units);
    const int shape[] = {static_cast<int>(layers_.size()), n, units}, strides[] = {n * units, units, 1};
    check(cudnnSetTensorNdDescriptor(made.state, data_type(), 3, shape, strides), kWhat);
    std::size_t inference = 0, none = 0;
    const cudnnHandle_t cudnn = device_.handles().cudnn;
    check(cudnnGetRNNTempSpaceSizes(cudnn, network_, CUDNN_FWD_MODE_TRAINING, made.in, &made.workspace, &made.reserve), kWhat);
    check(cudnnGetRNNTempSpaceSizes(cudnn, network_, CUDNN_FWD_MODE_INFERENCE, made.in, &inference, &none), kWhat);
    made.workspace = std::max(made.workspace, inference);
    return made;
  }

  // The descriptors of a batch that is at most as large as the one that reserve() was called for.
  const Sequences& fitting(std::size_t samples) {
    const Sequences& sequences = this->sequences(samples);
    if (sequences.reserve > reserve_.size() || sequences.workspace > std::max(kWorkspaceBytes, work_.size())) {
      throw Error("layer '" + first().config.name + "' needs more of cuDNN's memory for " + std::to_string(samples) +
                  " samples than for a larger batch: report this with the config");
    }
    return sequences;
  }

  CudaDevice& device_;
  const std::vector<LayerSpec> layers_;
  Port& input_;
  Tensor& output_;
  const std::size_t positions_, features_, units_;
  const Element element_;
  cudnnRNNDescriptor_t network_ = nullptr;
  cudnnDropoutDescriptor_t no_dropout_ = nullptr;
  std::map<std::size_t, Sequences> sequences_;
  std::vector<Piece> pieces_;
  // All of the element type. In cuDNN's layout:
  Array<std::uint8_t> weights_, gradients_;
  // (time, sample, feature):
  Array<std::uint8_t> inputs_, input_gradients_, states_, state_gradients_;
  Array<std::uint8_t> reserve_;     // cuDNN's, from the forward to the backward pass
  Array<std::uint8_t> work_;        // instead of the device's workspace, where that is too small
};

}  // namespace

std::unique_ptr<Layer> make_recurrent(CudaDevice& device, std::vector<LayerSpec> layers, Precision precision, Port& input,
                                      Tensor& output) {
  return std::make_unique<Recurrent>(device, std::move(layers), precision, input, output);
}

}  // namespace mgcompare::cuda::library
