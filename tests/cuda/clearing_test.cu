// Graphs whose memset nodes are replaced by kernels.

#include "cuda/clearing.h"

#include "cuda/launch.h"
#include "on_gpu.h"

namespace mgcompare::testing {
namespace {

class CudaClearing : public OnGpu {};

__global__ void add_one(std::uint8_t* bytes, std::size_t size) {
  cuda::wait_for_previous_kernel();
  for (std::size_t i = cuda::first_index(); i < size; i += cuda::index_stride()) ++bytes[i];
}

TEST_F(CudaClearing, WritesWhatMemsetsWrite) {
  cuda::CudaDevice device(gpu(0));
  const cudaStream_t stream = device.compute_stream();
  constexpr std::size_t kSize = 10007;
  Array<std::uint8_t> bytes = to_device(device, std::vector<std::uint8_t>(kSize, 7));
  cuda::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing");
  const auto add = [&] { cuda::launch(stream, 4, 64, 0, add_one, bytes.data(), kSize); };
  add();
  cuda::check(cudaMemsetAsync(bytes.data() + 4, 0, 4000, stream), "clearing");
  cuda::check(cudaMemsetAsync(bytes.data() + 5001, 0x5a, 3, stream), "clearing");
  add();
  cuda::check(cudaMemsetAsync(bytes.data() + 9000, 0, 1001, stream), "clearing");
  cudaGraph_t graph = nullptr;
  cuda::check(cudaStreamEndCapture(stream, &graph), "capturing");
  cuda::clear_by_kernels(graph);
  std::size_t count = 0;
  cuda::check(cudaGraphGetNodes(graph, nullptr, &count), "counting");
  std::vector<cudaGraphNode_t> nodes(count);
  cuda::check(cudaGraphGetNodes(graph, nodes.data(), &count), "counting");
  EXPECT_EQ(count, 5u);
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    cuda::check(cudaGraphNodeGetType(node, &type), "asking for a type");
    EXPECT_EQ(type, cudaGraphNodeTypeKernel);
  }
  cudaGraphExec_t runnable = nullptr;
  cuda::check(cudaGraphInstantiate(&runnable, graph, 0), "making a graph");
  cuda::check(cudaGraphLaunch(runnable, stream), "running a graph");
  std::vector<std::uint8_t> expected(kSize, 9);
  std::fill_n(expected.begin() + 4, 4000, 1);
  std::fill_n(expected.begin() + 5001, 3, 0x5b);
  std::fill_n(expected.begin() + 9000, 1001, 0);
  EXPECT_EQ(to_host(device, bytes.span()), expected);
  cudaGraphExecDestroy(runnable);
  cudaGraphDestroy(graph);
}

}  // namespace
}  // namespace mgcompare::testing
