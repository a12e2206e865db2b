#include "cuda/recurrent_cells.h"

#include <algorithm>

#include "cuda/activation_math.h"
#include "cuda/pack.h"
#include "cuda/partial_sums.h"

namespace mgcompare::cuda {
namespace {

constexpr int V = 4;                // neighbouring units of a thread
constexpr int kKept = RecurrentCells::kSums;  // values of a unit, and then its gradients
static_assert(RecurrentShape::kMultiple % V == 0);
constexpr unsigned kCellThreads = 128, kCellBlocks = 4 * 132;

__device__ inline float sigmoid(float x) { return activated<Activation::sigmoid>(x); }
__device__ inline float slope_of_sigmoid(float y) { return y * (1 - y); }
__device__ inline float slope_of_tanh(float y) { return 1 - y * y; }

struct Gru {
  static constexpr LayerType kType = LayerType::gru;
  static constexpr int kGates = 3;

  // Of the input and of the state: r, z, n. Kept are these gates and n's product with the state.
  static __device__ float forward(const float (&x)[kGates], const float (&h)[kGates], float before, float&, float (&kept)[kKept]) {
    kept[0] = sigmoid(x[0] + h[0]);
    kept[1] = sigmoid(x[1] + h[1]);
    kept[2] = tanhf(x[2] + kept[0] * h[2]);
    kept[3] = h[2];
    return (1 - kept[1]) * kept[2] + kept[1] * before;
  }

  // Replaces what is kept by the gradients of r, z, n of the input and n of the state.
  static __device__ void backward(float slope, float& carried, float before, float, float, float (&kept)[kKept]) {
    const float reset = kept[0], update = kept[1], candidate = kept[2];
    slope += carried;
    const float of_candidate = slope * (1 - update) * slope_of_tanh(candidate);
    kept[0] = of_candidate * kept[3] * slope_of_sigmoid(reset);
    kept[1] = slope * (before - candidate) * slope_of_sigmoid(update);
    kept[2] = of_candidate;
    kept[3] = of_candidate * reset;
    carried = slope * update;
  }
};

struct Lstm {
  static constexpr LayerType kType = LayerType::lstm;
  static constexpr int kGates = 4;

  // i, f, g, o.
  static __device__ float forward(const float (&x)[kGates], const float (&h)[kGates], float, float& memory, float (&kept)[kKept]) {
    kept[0] = sigmoid(x[0] + h[0]);
    kept[1] = sigmoid(x[1] + h[1]);
    kept[2] = tanhf(x[2] + h[2]);
    kept[3] = sigmoid(x[3] + h[3]);
    memory = kept[1] * memory + kept[0] * kept[2];
    return kept[3] * tanhf(memory);
  }

  static __device__ void backward(float slope, float& carried, float, float memory_before, float memory, float (&kept)[kKept]) {
    const float input = kept[0], forget = kept[1], candidate = kept[2], out = kept[3], squashed = tanhf(memory);
    const float of_memory = carried + slope * out * slope_of_tanh(squashed);
    kept[0] = of_memory * candidate * slope_of_sigmoid(input);
    kept[1] = of_memory * memory_before * slope_of_sigmoid(forget);
    kept[2] = of_memory * input * slope_of_tanh(candidate);
    kept[3] = slope * squashed * slope_of_sigmoid(out);
    carried = of_memory * forget;
  }
};

// A thread has V units of every so-many-th sample of one layer, which is that of its block.
struct Cells {
  unsigned samples, layers, width, units, positions, product_size;
  int wave;
  unsigned lanes;                   // threads for the units of a sample

  __device__ unsigned unit() const { return (blockIdx.x * lanes + threadIdx.x % lanes) * V; }
  __device__ unsigned row() const { return blockIdx.y * (kCellThreads / lanes) + threadIdx.x / lanes; }
  __device__ unsigned rows() const { return gridDim.y * (kCellThreads / lanes); }
  __device__ unsigned layer() const { return blockIdx.z; }
  __device__ int position() const { return wave - static_cast<int>(layer()); }
  __device__ bool has_position() const { return position() >= 0 && position() < static_cast<int>(positions); }
  __device__ bool is_last_layer() const { return layer() + 1 == layers; }
  // Places of a sample's first unit. `of` counts waves.
  __device__ std::size_t state(std::size_t of, unsigned sample) const { return ((of * samples + sample) * layers + layer()) * width + unit(); }
  __device__ std::size_t kept(unsigned gates, unsigned sample) const {
    return ((static_cast<std::size_t>(wave) * samples + sample) * layers + layer()) * 2 * gates * width + unit();
  }
  __device__ std::size_t slope(unsigned sample) const { return (static_cast<std::size_t>(sample) * layers + layer()) * 2 * width + unit(); }
  __device__ std::size_t output(bool of_all_positions, unsigned sample) const {
    return (of_all_positions ? static_cast<std::size_t>(sample) * positions + position() : sample) * units + unit();
  }
  __device__ bool has_output(bool of_all_positions) const { return is_last_layer() && (of_all_positions || position() + 1 == static_cast<int>(positions)); }
};

// Of the gradients that Cell::backward() returns, those of the products with the state.
template <class Cell> struct StateColumns {
  int at[Cell::kGates];
  constexpr StateColumns() : at() {
    for (int gate = 0; gate < Cell::kGates; ++gate) at[gate] = static_cast<int>(RecurrentCells::sum_of(Cell::kType, static_cast<std::size_t>(gate), true));
  }
};

template <int K, class T> __device__ void load_columns(const T* from, unsigned width, float (&values)[K][V]) {
#pragma unroll
  for (int k = 0; k < K; ++k) load<V>(from + k * width, values[k]);
}

template <int K, class T> __device__ void store_columns(T* to, unsigned width, const float (&values)[K][V]) {
#pragma unroll
  for (int k = 0; k < K; ++k) store<V>(to + k * width, values[k]);
}

// The output has rows without gaps, so that they may begin at any element.
template <class T> __device__ void load_output(const T* from, const Cells& cells, float (&values)[V]) {
  if (cells.units % V == 0 && cells.unit() < cells.units) return load<V>(from, values);
#pragma unroll
  for (int v = 0; v < V; ++v) values[v] = cells.unit() + v < cells.units ? widened(from[v]) : 0;
}

template <class T> __device__ void store_output(T* to, const Cells& cells, const float (&values)[V]) {
  if (cells.units % V == 0) {
    if (cells.unit() < cells.units) store<V>(to, values);
    return;
  }
#pragma unroll
  for (int v = 0; v < V; ++v)
    if (cells.unit() + v < cells.units) to[v] = narrowed<T>(values[v]);
}

template <class Cell, class T>
__global__ void __launch_bounds__(kCellThreads) forward_cells(Cells cells, bool keeps, RecurrentArrays arrays, RecurrentOutput output) {
  constexpr int G = Cell::kGates;
  if (cells.unit() >= cells.width) return;
  auto* const states = static_cast<T*>(arrays.states);
  auto* const kept_of = static_cast<T*>(arrays.kept);
  const unsigned width = cells.width, layer = cells.layer();
  const std::size_t before = cells.wave, now = cells.wave + 1;
  wait_for_previous_kernel();
  if (!cells.has_position()) {
    const float zeros[2 * G][V] = {};
    for (unsigned sample = cells.row(); sample < cells.samples; sample += cells.rows()) {
      store<V>(states + cells.state(now, sample), zeros[0]);
      if (arrays.memory != nullptr) store<V>(arrays.memory + cells.state(now, sample), zeros[0]);
      if (keeps && cells.wave >= 0) store_columns<2 * G>(kept_of + cells.kept(G, sample), width, zeros);
    }
    return;
  }
  float biases[2 * G][V];
  load_columns<2 * G>(arrays.biases + static_cast<std::size_t>(layer) * 2 * G * width + cells.unit(), width, biases);
  for (unsigned sample = cells.row(); sample < cells.samples; sample += cells.rows()) {
    const T* const products = static_cast<const T*>(arrays.products) + static_cast<std::size_t>(sample) * cells.product_size + layer * 2 * G * width + cells.unit();
    const T* const inputs = layer > 0 ? products
                                      : static_cast<const T*>(arrays.inputs) +
                                            (static_cast<std::size_t>(cells.position()) * cells.samples + sample) * G * width + cells.unit();
    float x[G][V], h[G][V], state[V], memory[V] = {}, kept[kKept][V];
    load_columns<G>(inputs, width, x);
    load_columns<G>(products + G * width, width, h);
    load<V>(states + cells.state(before, sample), state);
    if (arrays.memory != nullptr) load<V>(arrays.memory + cells.state(before, sample), memory);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      float of_input[G], of_state[G], of_kept[kKept];
#pragma unroll
      for (int g = 0; g < G; ++g) {
        of_input[g] = x[g][v] + biases[g][v];
        of_state[g] = h[g][v] + biases[G + g][v];
      }
      state[v] = Cell::forward(of_input, of_state, state[v], memory[v], of_kept);
#pragma unroll
      for (int k = 0; k < kKept; ++k) kept[k][v] = of_kept[k];
    }
    store<V>(states + cells.state(now, sample), state);
    if (arrays.memory != nullptr) store<V>(arrays.memory + cells.state(now, sample), memory);
    if (keeps) store_columns<kKept>(kept_of + cells.kept(G, sample), width, kept);
    if (cells.has_output(output.of_all_positions))
      store_output(static_cast<T*>(output.values) + cells.output(output.of_all_positions, sample), cells, state);
  }
}

template <class Cell, class T>
__global__ void __launch_bounds__(kCellThreads)
    backward_cells(Cells cells, RecurrentArrays arrays, RecurrentOutput gradient, const float* slopes, float* carried_by, float* partial) {
  constexpr int G = Cell::kGates;
  constexpr StateColumns<Cell> state_columns;
  if (cells.unit() >= cells.width || !cells.has_position()) return;
  const auto* const states = static_cast<const T*>(arrays.states);
  auto* const kept_of = static_cast<T*>(arrays.kept);
  const unsigned width = cells.width;
  const bool is_last_position = cells.position() + 1 == static_cast<int>(cells.positions);
  // In the last wave, no layer has a wave behind it.
  const bool has_slopes = cells.wave + 2 < static_cast<int>(cells.positions + cells.layers);
  float sums[kKept][V] = {};
  float* const partial_sums = partial + (static_cast<std::size_t>(cells.row()) * cells.layers + cells.layer()) * kKept * width + cells.unit();
  wait_for_previous_kernel();
  if (!is_last_position) load_columns<kKept>(partial_sums, width, sums);
  for (unsigned sample = cells.row(); sample < cells.samples; sample += cells.rows()) {
    T* const at = kept_of + cells.kept(G, sample);
    float* const carried_at = carried_by + cells.state(0, sample);
    float own[V] = {}, of_next[V] = {}, carried[V] = {}, added[V] = {}, before[V], memory_before[V] = {}, memory[V] = {}, kept[kKept][V];
    load_columns<kKept>(at, width, kept);
    load<V>(states + cells.state(cells.wave, sample), before);
    if (has_slopes) load<V>(slopes + cells.slope(sample), own);
    if (has_slopes && !cells.is_last_layer()) load<V>(slopes + cells.slope(sample) + width, of_next);
    if (!is_last_position) load<V>(carried_at, carried);
    if (cells.has_output(gradient.of_all_positions))
      load_output(static_cast<const T*>(gradient.values) + cells.output(gradient.of_all_positions, sample), cells, added);
    if (arrays.memory != nullptr) {
      load<V>(arrays.memory + cells.state(cells.wave, sample), memory_before);
      load<V>(arrays.memory + cells.state(cells.wave + 1, sample), memory);
    }
#pragma unroll
    for (int v = 0; v < V; ++v) {
      float of_kept[kKept];
#pragma unroll
      for (int k = 0; k < kKept; ++k) of_kept[k] = kept[k][v];
      Cell::backward(own[v] + of_next[v] + added[v], carried[v], before[v], memory_before[v], memory[v], of_kept);
#pragma unroll
      for (int k = 0; k < kKept; ++k) {
        kept[k][v] = of_kept[k];
        sums[k][v] += of_kept[k];
      }
    }
#pragma unroll
    for (int g = 0; g < G; ++g) {
      store<V>(at + g * width, kept[g]);
      store<V>(at + (G + g) * width, kept[state_columns.at[g]]);
    }
    store<V>(carried_at, carried);
  }
  store_columns<kKept>(partial_sums, width, sums);
}

}  // namespace

struct RecurrentCells::Grid {
  dim3 blocks;
  unsigned lanes;

  unsigned rows() const { return blocks.y * (kCellThreads / lanes); }
};

// Few samples per thread, because a wave takes about as long as one thread.
RecurrentCells::Grid RecurrentCells::grid(std::size_t samples) const {
  const auto packs = static_cast<unsigned>(shape_.width / V), layers = static_cast<unsigned>(shape_.layers);
  const unsigned lanes = lanes_for(packs, kCellThreads), tall = kCellThreads / lanes, across = (packs + lanes - 1) / lanes;
  const auto least = static_cast<unsigned>((samples + 2 * tall - 1) / (2 * tall));
  return {dim3(across, std::max(1u, std::min(least, (kCellBlocks + across * layers - 1) / (across * layers))), layers), lanes};
}

void RecurrentCells::reserve(std::size_t samples) {
  slopes_ = device_array<float>(device_, samples * shape_.slope_size());
  carried_ = device_array<float>(device_, samples * shape_.state_size());
  sums_ = device_array<float>(device_, grid(samples).rows() * shape_.layers * kSums * shape_.width);
}

// Calls f(grid, cells, Cell(), T()).
template <class F> void RecurrentCells::with_cells(std::size_t samples, int wave, F f) const {
  const Grid grid = this->grid(samples);
  const auto narrow = [](std::size_t value) { return static_cast<unsigned>(value); };
  const Cells cells{narrow(samples), narrow(shape_.layers), narrow(shape_.width), narrow(shape_.units), narrow(shape_.positions),
                    narrow(shape_.product_size()), wave, grid.lanes};
  with_element(element_, [&](auto value) {
    if (shape_.type == LayerType::gru) return f(grid, cells, Gru(), value);
    return f(grid, cells, Lstm(), value);
  });
}

void RecurrentCells::forward(std::size_t samples, int wave, bool keeps, const RecurrentArrays& arrays, const RecurrentOutput& output) const {
  with_cells(samples, wave, [&](const Grid& grid, const Cells& cells, auto cell, auto value) {
    launch(device_.compute_stream(), grid.blocks, kCellThreads, 0, forward_cells<decltype(cell), decltype(value)>, cells, keeps, arrays, output);
  });
}

void RecurrentCells::backward(std::size_t samples, int wave, const RecurrentArrays& arrays, const RecurrentOutput& gradient) const {
  with_cells(samples, wave, [&](const Grid& grid, const Cells& cells, auto cell, auto value) {
    launch(device_.compute_stream(), grid.blocks, kCellThreads, 0, backward_cells<decltype(cell), decltype(value)>, cells, arrays, gradient,
           slopes_.data(), carried_.data(), sums_.data());
  });
}

void RecurrentCells::sum_gradients(cudaStream_t stream, std::size_t samples, float* sums) const {
  sum_partials(stream, sums_.data(), grid(samples).rows(), shape_.layers * kSums * shape_.width, sums);
}

}  // namespace mgcompare::cuda
