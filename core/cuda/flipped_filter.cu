#include "cuda/flipped_filter.h"

#include "cuda/pack.h"

namespace mgcompare::cuda {
namespace {

constexpr unsigned kTile = 32;

// Block (tile of inputs, tile of outputs, place of the kernel): through shared memory, because neighbouring threads read neighbouring inputs
// and write neighbouring outputs.
template <class T> __global__ void flip_filter(unsigned outputs, unsigned places, unsigned inputs, const T* filter, T* flipped) {
  __shared__ T tile[kTile][kTile + 1];
  const unsigned first_input = blockIdx.x * kTile, first_output = blockIdx.y * kTile, place = blockIdx.z;
  const unsigned lane = threadIdx.x % kTile, line = threadIdx.x / kTile, lines = kThreads / kTile;
  wait_for_previous_kernel();
  for (unsigned k = line; k < kTile; k += lines) {
    const unsigned output = first_output + k, input = first_input + lane;
    if (output < outputs && input < inputs) tile[k][lane] = filter[(static_cast<std::size_t>(output) * places + place) * inputs + input];
  }
  __syncthreads();
  for (unsigned k = line; k < kTile; k += lines) {
    const unsigned input = first_input + k, output = first_output + lane;
    if (output < outputs && input < inputs)
      flipped[(static_cast<std::size_t>(input) * places + (places - 1 - place)) * outputs + output] = tile[lane][k];
  }
}

unsigned tiles_of(std::int64_t channels) { return static_cast<unsigned>((channels + kTile - 1) / kTile); }

}  // namespace

std::optional<FlippedFilter> FlippedFilter::of(const ConvolutionProblem& p) {
  if (p.pass != ConvolutionPass::data_gradient || p.adds || !p.channels_last) return {};
  if (p.out == 1) return {};  // of images of one channel cuDNN (9.14) computes channels-last results that are wrong
  FlippedFilter made;
  ConvolutionProblem& forward = made.problem_ = p;
  forward.pass = ConvolutionPass::forward;
  forward.in = p.out;
  forward.height = p.down;
  forward.width = p.across;
  forward.out = p.in;
  forward.down = p.height;
  forward.across = p.width;
  for (const int axis : {0, 1}) {
    if (p.stride[axis] != 1 || p.padding[axis] >= p.kernel[axis]) return {};
    forward.padding[axis] = p.kernel[axis] - 1 - p.padding[axis];
  }
  if (forward.kernel[0] * forward.kernel[1] > 65535 || tiles_of(forward.in) > 65535) return {};  // limits of a grid
  return made;
}

std::size_t FlippedFilter::filter_size() const {
  return static_cast<std::size_t>(problem_.in * problem_.out * problem_.kernel[0] * problem_.kernel[1]);
}

void FlippedFilter::flip(cudaStream_t stream, const void* filter, void* flipped) const {
  const auto outputs = static_cast<unsigned>(problem_.in), inputs = static_cast<unsigned>(problem_.out);
  const auto places = static_cast<unsigned>(problem_.kernel[0] * problem_.kernel[1]);
  with_element(problem_.element, [&](auto type) {
    using T = decltype(type);
    launch(stream, dim3(tiles_of(problem_.out), tiles_of(problem_.in), places), kThreads, 0, flip_filter<T>, outputs, places, inputs,
           static_cast<const T*>(filter), static_cast<T*>(flipped));
  });
}

}  // namespace mgcompare::cuda
