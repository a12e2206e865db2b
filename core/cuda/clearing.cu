#include "cuda/clearing.h"

#include <cstdint>
#include <vector>

#include "cuda/launch.h"

namespace mgcompare::cuda {
namespace {

constexpr char kWhat[] = "capturing steps";

template <class T> __global__ void fill(T* to, T value, std::size_t size) {
  for (std::size_t i = first_index(); i < size; i += index_stride()) to[i] = value;
}

enum class Side : std::uint8_t { before, after };

// The neighbours of a node, all by ordinary edges: only kernels have others.
std::vector<cudaGraphNode_t> neighbours(cudaGraphNode_t node, Side side) {
  const auto get = [&](cudaGraphNode_t* found, std::size_t* count) {
#if CUDART_VERSION >= 13000
    return side == Side::before ? cudaGraphNodeGetDependencies(node, found, nullptr, count)
                                : cudaGraphNodeGetDependentNodes(node, found, nullptr, count);
#else
    return side == Side::before ? cudaGraphNodeGetDependencies(node, found, count) : cudaGraphNodeGetDependentNodes(node, found, count);
#endif
  };
  std::size_t count = 0;
  check(get(nullptr, &count), kWhat);
  std::vector<cudaGraphNode_t> found(count);
  if (count > 0) check(get(found.data(), &count), kWhat);
  return found;
}

void connect(cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to) {
#if CUDART_VERSION >= 13000
  check(cudaGraphAddDependencies(graph, &from, &to, nullptr, 1), kWhat);
#else
  check(cudaGraphAddDependencies(graph, &from, &to, 1), kWhat);
#endif
}

// A kernel that writes `size` elements of T, behind the same nodes.
template <class T> cudaGraphNode_t add_fill(cudaGraph_t graph, const std::vector<cudaGraphNode_t>& before, const cudaMemsetParams& memset) {
  T* to = static_cast<T*>(memset.dst);
  auto value = static_cast<T>(memset.value);
  std::size_t size = memset.width;
  void* arguments[] = {&to, &value, &size};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(&fill<T>);
  kernel.gridDim = dim3(blocks_for(size));
  kernel.blockDim = dim3(kThreads);
  kernel.kernelParams = arguments;
  cudaGraphNode_t node = nullptr;
  check(cudaGraphAddKernelNode(&node, graph, before.data(), before.size(), &kernel), kWhat);
  return node;
}

// As many bytes in elements of four, where size and address allow it.
cudaMemsetParams widened(cudaMemsetParams memset) {
  const std::size_t bytes = memset.width * memset.elementSize;
  const bool same_bytes = memset.value == 0 || memset.elementSize == 4;
  if (!same_bytes || bytes % 4 != 0 || reinterpret_cast<std::uintptr_t>(memset.dst) % 4 != 0) return memset;
  memset.width = bytes / 4;
  memset.elementSize = 4;
  return memset;
}

}  // namespace

void clear_by_kernels(cudaGraph_t graph) {
  std::size_t count = 0;
  check(cudaGraphGetNodes(graph, nullptr, &count), kWhat);
  std::vector<cudaGraphNode_t> nodes(count);
  if (count > 0) check(cudaGraphGetNodes(graph, nodes.data(), &count), kWhat);
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    check(cudaGraphNodeGetType(node, &type), kWhat);
    if (type != cudaGraphNodeTypeMemset) continue;
    cudaMemsetParams memset{};
    check(cudaGraphMemsetNodeGetParams(node, &memset), kWhat);
    if (memset.height != 1 || memset.width == 0) continue;
    memset = widened(memset);
    const std::vector<cudaGraphNode_t> before = neighbours(node, Side::before);
    const cudaGraphNode_t kernel = memset.elementSize == 4   ? add_fill<std::uint32_t>(graph, before, memset)
                                   : memset.elementSize == 2 ? add_fill<std::uint16_t>(graph, before, memset)
                                                             : add_fill<std::uint8_t>(graph, before, memset);
    for (const cudaGraphNode_t after : neighbours(node, Side::after)) connect(graph, kernel, after);
    check(cudaGraphDestroyNode(node), kWhat);
  }
}

}  // namespace mgcompare::cuda
