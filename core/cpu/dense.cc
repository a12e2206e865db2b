#include "cpu/dense.h"

#include <cstring>
#include <new>

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>

#include "mgcompare/error.h"

namespace mgcompare {
namespace {

// c = op(a) op(b), row-major; c is (m, n), op(a) is (m, k).
void multiply(char transpose_a, char transpose_b, std::size_t m, std::size_t n, std::size_t k, const float* a,
              const float* b, float* c) {
  const auto rows = static_cast<dnnl_dim_t>(m), columns = static_cast<dnnl_dim_t>(n), terms = static_cast<dnnl_dim_t>(k);
  const dnnl_status_t status = dnnl_sgemm(transpose_a, transpose_b, rows, columns, terms, 1.0f, a,
                                          transpose_a == 'N' ? terms : rows, b, transpose_b == 'N' ? columns : terms, 0.0f,
                                          c, columns);
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  if (status != dnnl_success) {
    throw Error(fmt::format("oneDNN failed to multiply {} x {} by {} x {} matrices (status {}): report this with the config",
                            m, k, k, n, static_cast<int>(status)));
  }
}

class Dense : public Layer {
 public:
  Dense(const LayerSpec& spec, Activation activation, Port& input, Tensor& output)
      : spec_(spec), activation_(activation), input_(input), output_(output), outputs_(spec.output_shape.back()),
        inputs_(spec.weights.size() / outputs_), rows_(output.features / outputs_) {}

  void forward(const Work& work) override {
    if (work.samples == 0) return;
    const std::size_t rows = work.samples * rows_;
    multiply('N', 'T', rows, outputs_, inputs_, input_.tensor->value, work.weights + spec_.weights.begin, output_.value);
    const float* const bias = spec_.bias.size() == 0 ? nullptr : work.weights + spec_.bias.begin;
    kernels().add_bias(activation_, bias, output_.value, rows, outputs_);
  }

  void backward(const Work& work) override {
    float* const weight_gradient = work.gradients + spec_.weights.begin;
    float* const gradient = output_.gradient;
    kernels().activate_back(activation_, output_.value, gradient, gradient, work.samples * output_.features);
    if (spec_.bias.size() > 0) {
      kernels().sum_rows(gradient, work.samples * rows_, outputs_, work.gradients + spec_.bias.begin);
    }
    if (work.samples == 0) {
      std::memset(weight_gradient, 0, spec_.weights.size() * sizeof(float));
      return;
    }
    const std::size_t rows = work.samples * rows_;
    multiply('T', 'N', outputs_, inputs_, rows, gradient, input_.tensor->value, weight_gradient);
    if (!input_.tensor->needs_gradient) return;
    multiply('N', 'N', rows, inputs_, outputs_, gradient, work.weights + spec_.weights.begin, input_.gradient);
  }

 private:
  const LayerSpec spec_;
  Activation activation_;
  Port& input_;
  Tensor& output_;
  std::size_t outputs_, inputs_;
  std::size_t rows_;                // of a sample: 1, or the positions of a sequence
};

}  // namespace

std::unique_ptr<Layer> make_dense(const LayerSpec& spec, Activation activation, Port& input, Tensor& output) {
  return std::make_unique<Dense>(spec, activation, input, output);
}

}  // namespace mgcompare
