#include "cuda/conversion.h"

#include "cuda/device.h"
#include "cuda/transpose.h"

namespace mgcompare::cuda {
namespace {

class Conversion : public Layer {
 public:
  Conversion(CudaDevice& device, Port& input, Tensor& output) : device_(device), input_(input), output_(output) {}

  void forward(const Work& work) override {
    change(work, *input_.tensor, input_.tensor->value, output_, output_.value);
  }

  void backward(const Work& work) override {
    if (input_.tensor->needs_gradient) change(work, output_, output_.gradient, *input_.tensor, input_.gradient);
  }

 private:
  void change(const Work& work, const Tensor& source, const void* from, const Tensor& target, void* to) const {
    const cudaStream_t stream = device_.compute_stream();
    const Element of_source = source.format.element, of_target = target.format.element;
    if (source.reordered() == target.reordered()) return convert(stream, source.size(work.samples), from, of_source, to, of_target);
    const Matrices images = source.reordered() ? Matrices{work.samples, source.pixels(), source.channels}
                                               : Matrices{work.samples, source.channels, source.pixels()};
    transpose(stream, images, from, of_source, to, of_target);
  }

  CudaDevice& device_;
  Port& input_;
  Tensor& output_;
};

}  // namespace

std::unique_ptr<Layer> make_conversion(CudaDevice& device, Port& input, Tensor& output) {
  return std::make_unique<Conversion>(device, input, output);
}

}  // namespace mgcompare::cuda
