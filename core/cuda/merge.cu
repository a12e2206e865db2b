#include "cuda/merge.h"

#include <utility>

#include "cuda/device.h"
#include "cuda/launch.h"

namespace mgcompare::cuda {
namespace {

class Sum : public Layer {
 public:
  Sum(CudaDevice& device, std::vector<Port*> inputs, Tensor& output)
      : device_(device), inputs_(std::move(inputs)), output_(output) {}

  void forward(const Work& work) override {
    for (const Port* input : inputs_)
      add_vector(device_, output_.value, input->tensor->value, output_.size(work.samples), input == inputs_.front());
  }

  void backward(const Work& work) override {
    for (const Port* input : inputs_) {
      if (input->tensor->needs_gradient)
        add_vector(device_, input->gradient, output_.gradient, output_.size(work.samples), true);
    }
  }

 private:
  CudaDevice& device_;
  std::vector<Port*> inputs_;
  Tensor& output_;
};

class Concatenation : public Layer {
 public:
  Concatenation(CudaDevice& device, std::vector<Port*> inputs, Tensor& output)
      : device_(device), inputs_(std::move(inputs)), output_(output) {}

  void forward(const Work& work) override {
    std::size_t begin = 0;
    for (const Port* input : inputs_) {
      copy_rows(work, output_.value + begin, output_.features, input->tensor->value, input->tensor->features,
                input->tensor->features);
      begin += input->tensor->features;
    }
  }

  void backward(const Work& work) override {
    std::size_t begin = 0;
    for (const Port* input : inputs_) {
      const std::size_t features = input->tensor->features;
      if (input->tensor->needs_gradient)
        copy_rows(work, input->gradient, features, output_.gradient + begin, output_.features, features);
      begin += features;
    }
  }

 private:
  void copy_rows(const Work& work, float* to, std::size_t to_pitch, const float* from, std::size_t from_pitch,
                 std::size_t features) {
    if (work.samples == 0) return;
    check(cudaMemcpy2DAsync(to, to_pitch * sizeof(float), from, from_pitch * sizeof(float), features * sizeof(float),
                            work.samples, cudaMemcpyDeviceToDevice, device_.compute_stream()),
          "concatenating layers");
  }

  CudaDevice& device_;
  std::vector<Port*> inputs_;
  Tensor& output_;
};

}  // namespace

void add_vector(CudaDevice& device, float* to, const float* from, std::size_t size, bool first) {
  if (first) {
    // Not CudaDevice::copy(), which waits for the branch of weight gradients.
    check(cudaMemcpyAsync(to, from, size * sizeof(float), cudaMemcpyDeviceToDevice, device.compute_stream()),
          "copying on a device");
    return;
  }
  for_each_index(device.compute_stream(), size, [=] __device__(std::size_t i) { to[i] += from[i]; });
}

std::unique_ptr<Layer> make_sum(CudaDevice& device, std::vector<Port*> inputs, Tensor& output) {
  return std::make_unique<Sum>(device, std::move(inputs), output);
}

std::unique_ptr<Layer> make_concatenation(CudaDevice& device, std::vector<Port*> inputs, Tensor& output) {
  return std::make_unique<Concatenation>(device, std::move(inputs), output);
}

}  // namespace mgcompare::cuda
