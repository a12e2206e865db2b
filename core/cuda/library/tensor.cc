#include "cuda/library/tensor.h"

#include <limits>

#include "cuda/status.h"
#include "mgcompare/error.h"

namespace mgcompare::cuda::library {
namespace {

constexpr char kWhat[] = "describing a layer to cuDNN";

int number(std::size_t size) {
  if (size > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw Error("cuDNN's layers have at most 2147483647 elements along an axis, and this batch has more: use a smaller batch");
  return static_cast<int>(size);
}

}  // namespace

Tensor4d::Tensor4d() { check(cudnnCreateTensorDescriptor(&descriptor_), kWhat); }
Tensor4d::~Tensor4d() { cudnnDestroyTensorDescriptor(descriptor_); }

cudnnTensorDescriptor_t Tensor4d::of(const Sizes& sizes, Element element, bool channels_last) {
  check(cudnnSetTensor4dDescriptor(descriptor_, channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW,
                                   element == Element::bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT, number(sizes.samples),
                                   number(sizes.channels), number(sizes.rows), number(sizes.columns)),
        kWhat);
  return descriptor_;
}

}  // namespace mgcompare::cuda::library
