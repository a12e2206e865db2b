#include "cuda/loss.h"

#include "cuda/launch.h"

namespace mgcompare::cuda {
namespace {

constexpr unsigned kWarps = 8;

// One warp per row: the logits of one target.
__global__ void cross_entropy(const float* logits, unsigned rows, unsigned classes, const std::uint32_t* order,
                              CapturedStep captured_step, const std::uint32_t* targets, unsigned targets_per_sample,
                              float* dlogits, float scale, DeviceTally* tally) {
  __shared__ double losses[kWarps];
  __shared__ unsigned hits[kWarps];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned number = blockIdx.x * kWarps + warp;
  wait_for_previous_kernel();
  double loss = 0;
  bool hit = false;
  if (number < rows) {
    const float* const row = logits + static_cast<std::size_t>(number) * classes;
    const unsigned sample = number / targets_per_sample, place = number % targets_per_sample;
    const std::size_t id = order[sample + captured_step.position_offset()];
    const unsigned target = targets[id * targets_per_sample + place];
    float best = -INFINITY;
    unsigned winner = 0xffffffffu;
    for (unsigned c = lane; c < classes; c += 32) {
      if (row[c] > best || winner == 0xffffffffu) {
        best = row[c];
        winner = c;
      }
    }
    for (int offset = 16; offset > 0; offset /= 2) {
      const float other = __shfl_xor_sync(0xffffffffu, best, offset);
      const unsigned rival = __shfl_xor_sync(0xffffffffu, winner, offset);
      if (rival != 0xffffffffu && (winner == 0xffffffffu || other > best || (other == best && rival < winner))) {
        best = other;
        winner = rival;
      }
    }
    float sum = 0;
    for (unsigned c = lane; c < classes; c += 32) sum += expf(row[c] - best);
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    loss = static_cast<double>(logf(sum) - (row[target] - best));
    hit = winner == target && sum == sum;
    if (dlogits != nullptr) {
      for (unsigned c = lane; c < classes; c += 32) {
        const float probability = expf(row[c] - best) / sum;
        dlogits[static_cast<std::size_t>(number) * classes + c] = (probability - (c == target ? 1.0f : 0.0f)) * scale;
      }
    }
  }
  if (lane == 0) {
    losses[warp] = loss;
    hits[warp] = hit ? 1 : 0;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  unsigned correct = 0;
  loss = 0;
  for (unsigned w = 0; w < kWarps; ++w) {
    loss += losses[w];
    correct += hits[w];
  }
  atomicAdd(&tally->loss, loss);
  atomicAdd(&tally->correct, static_cast<unsigned long long>(correct));
  if (blockIdx.x == 0) atomicAdd(&tally->predictions, static_cast<unsigned long long>(rows));
}

}  // namespace

void softmax_cross_entropy(CudaDevice& device, const float* logits, const TargetRows& rows, std::size_t classes, float* dlogits,
                           float scale, DeviceTally* tally) {
  if (rows.samples == 0) return;
  const auto n = static_cast<unsigned>(rows.samples * rows.per_sample);
  launch(device.compute_stream(), (n + kWarps - 1) / kWarps, kWarps * 32, 0, cross_entropy, logits, n,
         static_cast<unsigned>(classes), rows.order, device.captured_step(), rows.targets, static_cast<unsigned>(rows.per_sample),
         dlogits, scale, tally);
}

}  // namespace mgcompare::cuda
