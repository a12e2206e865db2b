#include "cuda/library/bias.h"

#include <vector>

#include "cuda/device.h"
#include "cuda/library/tensor.h"
#include "cuda/transpose.h"

namespace mgcompare::cuda::library {
namespace {

class LibraryBias : public Bias {
 public:
  LibraryBias(CudaDevice& device, std::size_t columns, Element element) : device_(device), columns_(columns), element_(element) {
    if (element != Element::fp32) narrow_ = device_array<std::uint8_t>(device, columns * bytes_of(element));
  }

  void reserve(std::size_t rows) override {
    const std::vector<float> values(rows, 1.0f);
    const Array<float> wide(device_, rows);
    ones_ = device_array<std::uint8_t>(device_, rows * bytes_of(element_));
    device_.copy_to_device(wide.data(), values.data(), rows * sizeof(float));
    convert(device_.compute_stream(), rows, wide.data(), Element::fp32, ones_.data(), element_);
    device_.synchronize();
  }

  void add(Activation, const float* bias, void* x, std::size_t rows) override {
    if (rows == 0 || bias == nullptr) return;
    const void* values = bias;
    if (!narrow_.empty()) {
      convert(device_.compute_stream(), columns_, bias, Element::fp32, narrow_.data(), element_);
      values = narrow_.data();
    }
    const float one = 1;
    check(cudnnAddTensor(device_.handles().cudnn, &one, bias_.of({1, columns_}, element_, true), values, &one,
                         matrix_.of({1, columns_, rows}, element_, true), x),
          "adding a bias");
  }

  // The product of a row of ones and the gradient.
  void backward(Activation, const void*, void* gradient, float* sums, std::size_t rows) override {
    if (sums == nullptr) return;
    if (rows == 0) return device_.zero(sums, columns_ * sizeof(float));
    device_.handles().blas->multiply({.a = ones_.data(), .b = gradient, .c = sums, .m = 1, .n = columns_, .k = rows, .factors = element_},
                                     element_ == Element::fp32 ? Precision::fp32 : Precision::bf16);
  }

 private:
  CudaDevice& device_;
  const std::size_t columns_;
  const Element element_;
  Tensor4d bias_, matrix_;
  Array<std::uint8_t> narrow_;      // the bias in the type of the values
  Array<std::uint8_t> ones_;
};

}  // namespace

std::unique_ptr<Bias> make_bias(CudaDevice& device, std::size_t columns, Element element) {
  return std::make_unique<LibraryBias>(device, columns, element);
}

}  // namespace mgcompare::cuda::library
