#include "cuda/merge.h"

#include <utility>

#include "cuda/activation_math.h"
#include "cuda/device.h"
#include "cuda/pack.h"

namespace mgcompare::cuda {
namespace {

template <Activation A> struct Plus {
  __device__ float operator()(float a, float b) const { return activated<A>(a + b); }
};

template <Activation A> struct PlusSlope {
  __device__ float operator()(float a, float b, float y) const { return activation_gradient<A>(y, a + b); }
};

// to = activation(a + b); `to` may be one of them.
void add_vectors(CudaDevice& device, Element element, void* to, const void* a, const void* b, std::size_t size,
                 Activation activation) {
  with_element(element, [&](auto type) {
    with_activation(activation, [&](auto chosen) {
      using T = decltype(type);
      map(device.compute_stream(), size, Plus<decltype(chosen)::value>(), static_cast<T*>(to), static_cast<const T*>(a),
          static_cast<const T*>(b));
    });
  });
}

class Sum : public Layer {
 public:
  Sum(CudaDevice& device, Activation activation, std::vector<Port*> inputs, Tensor& output)
      : device_(device), activation_(activation), inputs_(std::move(inputs)), output_(output) {}

  bool passes_gradient(std::size_t) const override { return true; }
  Activation derivative() const override { return activation_; }
  bool overwrites_output_gradient() const override { return output_.own_derivative(activation_) != Activation::none; }

  void forward(const Work& work) override {
    const std::size_t size = output_.size(work.samples), count = inputs_.size();
    const Element element = output_.format.element;
    const void* sum = inputs_.front()->tensor->value;
    for (std::size_t k = 1; k < count; ++k) {
      add_vectors(device_, element, output_.value, sum, inputs_[k]->tensor->value, size,
                  k + 1 == count ? activation_ : Activation::none);
      sum = output_.value;
    }
    if (count == 1) activate(device_, activation_, element, sum, output_.value, size);
  }

  void backward(const Work& work) override {
    const std::size_t size = output_.size(work.samples);
    const Element element = output_.format.element;
    if (overwrites_output_gradient())
      activate_backward(device_, activation_, element, output_.value, output_.gradient, output_.gradient, size);
    for (const Port* input : inputs_)
      if (input->tensor->needs_gradient) copy_vector(device_, element, input->gradient, output_.gradient, size);
  }

 private:
  CudaDevice& device_;
  Activation activation_;
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
      const std::size_t width = of_row(*input->tensor);
      copy_rows(work, at(output_.value, begin), of_row(output_), input->tensor->value, width, width);
      begin += width;
    }
  }

  void backward(const Work& work) override {
    std::size_t begin = 0;
    for (const Port* input : inputs_) {
      const std::size_t width = of_row(*input->tensor);
      if (input->tensor->needs_gradient) copy_rows(work, input->gradient, width, at(output_.gradient, begin), of_row(output_), width);
      begin += width;
    }
  }

 private:
  // Elements of a row: a pixel's channels if the tensors are channels-last, otherwise a sample's features.
  std::size_t of_row(const Tensor& tensor) const { return tensor.format.channels_last ? tensor.channels : tensor.features; }
  void* at(void* data, std::size_t element) const { return static_cast<char*>(data) + element * bytes_of(output_.format.element); }

  void copy_rows(const Work& work, void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t elements) {
    if (work.samples == 0) return;
    const std::size_t bytes = bytes_of(output_.format.element);
    check(cudaMemcpy2DAsync(to, to_pitch * bytes, from, from_pitch * bytes, elements * bytes,
                            work.samples * (output_.features / of_row(output_)), cudaMemcpyDeviceToDevice, device_.compute_stream()),
          "concatenating layers");
  }

  CudaDevice& device_;
  std::vector<Port*> inputs_;
  Tensor& output_;
};

}  // namespace

void copy_vector(CudaDevice& device, Element element, void* to, const void* from, std::size_t size) {
  if (size == 0 || to == from) return;
  // Not CudaDevice::copy(), which waits for the branch of weight gradients.
  check(cudaMemcpyAsync(to, from, size * bytes_of(element), cudaMemcpyDeviceToDevice, device.compute_stream()),
        "copying on a device");
}

void add_gradients(CudaDevice& device, Element element, void* to, const void* a, const void* b, std::size_t size, Activation activation,
                   const void* y) {
  with_element(element, [&](auto type) {
    with_activation(activation, [&](auto chosen) {
      using T = decltype(type);
      map(device.compute_stream(), size, PlusSlope<decltype(chosen)::value>(), static_cast<T*>(to), static_cast<const T*>(a),
          static_cast<const T*>(b), static_cast<const T*>(y));
    });
  });
}

std::unique_ptr<Layer> make_sum(CudaDevice& device, Activation activation, std::vector<Port*> inputs, Tensor& output) {
  return std::make_unique<Sum>(device, activation, std::move(inputs), output);
}

std::unique_ptr<Layer> make_concatenation(CudaDevice& device, std::vector<Port*> inputs, Tensor& output) {
  return std::make_unique<Concatenation>(device, std::move(inputs), output);
}

}  // namespace mgcompare::cuda
