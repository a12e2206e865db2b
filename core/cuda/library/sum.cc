#include "cuda/library/sum.h"

#include <utility>

#include "cuda/device.h"
#include "cuda/library/tensor.h"
#include "cuda/merge.h"

namespace mgcompare::cuda::library {
namespace {

constexpr char kWhat[] = "adding layers";

class Sum : public Layer {
 public:
  Sum(CudaDevice& device, std::vector<Port*> inputs, Tensor& output)
      : device_(device), inputs_(std::move(inputs)), output_(output) {
    check(cudnnCreateOpTensorDescriptor(&addition_), kWhat);
    check(cudnnSetOpTensorDescriptor(addition_, CUDNN_OP_TENSOR_ADD, CUDNN_DATA_FLOAT, CUDNN_PROPAGATE_NAN), kWhat);
  }
  ~Sum() override { cudnnDestroyOpTensorDescriptor(addition_); }

  bool passes_gradient(std::size_t) const override { return true; }

  void forward(const Work& work) override {
    if (work.samples == 0) return;
    const void* sum = inputs_.front()->tensor->value;
    if (inputs_.size() == 1) copy_vector(device_, element(), output_.value, sum, output_.size(work.samples));
    const float one = 1, zero = 0;
    const cudnnTensorDescriptor_t shape = tensor_.of({work.samples, output_.features}, element());
    for (std::size_t k = 1; k < inputs_.size(); ++k) {
      check(cudnnOpTensor(device_.handles().cudnn, addition_, &one, shape, sum, &one, shape, inputs_[k]->tensor->value, &zero, shape,
                          output_.value),
            kWhat);
      sum = output_.value;
    }
  }

  void backward(const Work& work) override {
    for (const Port* input : inputs_)
      if (input->tensor->needs_gradient) copy_vector(device_, element(), input->gradient, output_.gradient, output_.size(work.samples));
  }

 private:
  Element element() const { return output_.format.element; }

  CudaDevice& device_;
  std::vector<Port*> inputs_;
  Tensor& output_;
  cudnnOpTensorDescriptor_t addition_ = nullptr;
  Tensor4d tensor_;
};

}  // namespace

std::unique_ptr<Layer> make_sum(CudaDevice& device, std::vector<Port*> inputs, Tensor& output) {
  return std::make_unique<Sum>(device, std::move(inputs), output);
}

}  // namespace mgcompare::cuda::library
