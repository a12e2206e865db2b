#include "cuda/batch_norm.h"

#include <type_traits>
#include <utility>

#include "cuda/activation.h"
#include "cuda/batch_norm_terms.h"
#include "cuda/column_sums.h"
#include "cuda/merge.h"

namespace mgcompare::cuda {
namespace {

class BatchNorm : public Layer {
 public:
  BatchNorm(CudaDevice& device, const LayerSpec& spec, const Unfinished& before, Activation activation, std::vector<Port*> inputs,
            Tensor& output)
      : device_(device), spec_(spec), before_(before), activation_(activation), inputs_(std::move(inputs)), input_(*inputs_.front()),
        output_(output), channels_(spec.input_shapes.front()[0]), column_sums_(device, channels_), mean_(device, channels_),
        inverse_(device, channels_), sums_(device, 2 * channels_ + 1), moments_(device, channels_), count_(device, 1) {}

  void synchronize(const std::function<void(Vec)>& all_reduce) override { all_reduce_ = all_reduce; }
  // After a sum, what the activation was applied to is not known to the other kernels.
  Activation derivative() const override { return adds() ? activation_ : Activation::none; }
  bool overwrites_output_gradient() const override { return output_.own_derivative(derivative()) != Activation::none; }
  bool passes_gradient(std::size_t input) const override { return input > 0; }
  bool wants_sums() const override { return activation_ == Activation::none && !adds(); }

  void forward(const Work& work) override {
    with_parts(work, [&](auto type, auto before) {
      using T = decltype(type);
      using Before = decltype(before);
      if (work.training) measure<T>(work, before);
      else take_running(work);
      const T* const x = input_.values<T>();
      const T* const other = adds() ? inputs_[1]->values<T>() : nullptr;
      T* const y = output_.values<T>();
      const auto normalize = [&](const auto& term) {
        map_columns(device_.compute_stream(), rows(work), channels_, term, x, y, other == nullptr ? x : other);
      };
      with_own_activation<Before>(activation_, [&](auto chosen) {
        constexpr Activation A = decltype(chosen)::value;
        if (adds()) normalize(NormalTerm<A, Before, true, T>{x, other, y, before, scales(work)});
        else normalize(NormalTerm<A, Before, false, T>{x, other, y, before, scales(work)});
      });
    });
  }

  void backward(const Work& work) override {
    const std::size_t size = output_.size(work.samples);
    if (overwrites_output_gradient())
      activate_backward(device_, activation_, output_.format.element, output_.value, output_.gradient, output_.gradient, size);
    with_parts(work, [&](auto type, auto before) {
      with_own_activation<decltype(before)>(adds() ? Activation::none : activation_, [&](auto chosen) {
        backward<decltype(chosen)::value, decltype(type)>(work, before);
      });
    });
    if (adds() && inputs_[1]->tensor->needs_gradient)
      copy_vector(device_, output_.format.element, inputs_[1]->gradient, output_.gradient, size);
  }

  // nvcc refuses device lambdas in private members.
  bool adds() const { return inputs_.size() > 1; }
  std::size_t rows(const Work& work) const { return work.samples * (output_.features / channels_); }
  Scales scales(const Work& work) const {
    return {mean_.data(), inverse_.data(), work.weights + spec_.weights.begin, work.weights + spec_.bias.begin};
  }

  // The bias of the layer before, in a vector of weights or gradients; null without one.
  template <class T> T* bias(T* vector) const { return before_.bias.size() == 0 ? nullptr : vector + before_.bias.begin; }
  // The same if it is in no element that is normalised, because normalisation subtracts it again.
  template <class T> T* implied_bias(T* vector) const { return before_.activation == Activation::none ? bias(vector) : nullptr; }

  // Calls f with the type of the elements, and with what the layer before has left to do in the kernels.
  template <class F> void with_parts(const Work& work, F f) const {
    with_element(output_.format.element, [&](auto type) {
      with_activation(before_.activation, [&](auto left) { f(type, LeftOver<decltype(left)::value>{bias(work.weights)}); });
    });
  }

  // Calls f with this layer's activation. There is none where the layer before has left its own (fusion.h), so that fewer kernels are compiled.
  template <class Before, class F> static void with_own_activation(Activation activation, F f) {
    if constexpr (std::is_same_v<Before, LeftOver<Activation::none>>) with_activation(activation, f);
    else f(Chosen<Activation::none>());
  }

  template <Activation A, class T, Activation kBefore> void backward(const Work& work, const LeftOver<kBefore>& before) {
    const T* const x = input_.values<T>();
    const T* const dy = output_.gradients<T>();
    float* const sums = sums_.data();
    float* const beta_gradient = work.gradients + spec_.bias.begin;
    float* const gamma_gradient = work.gradients + spec_.weights.begin;
    float* const implied = implied_bias(work.gradients);
    const float* const gamma = work.weights + spec_.weights.begin;
    const float* const inverse = inverse_.data();
    const bool training = work.training;
    const std::size_t channels = channels_;
    const float share = work.training && all_reduce_ ? work.share : 1;
    if (output_.sums != nullptr) device_.join_branch();
    column_sums_.sum<2>(
        rows(work), SlopeTerm<A, LeftOver<kBefore>, T>{x, dy, before, scales(work), output_.sums, static_cast<unsigned>(channels)},
        [=] __device__(unsigned c, const float(&totals)[2]) {
          const float products = totals[1] * inverse[c];
          beta_gradient[c] = totals[0];
          gamma_gradient[c] = products;
          if (implied != nullptr) implied[c] = training ? 0.0f : gamma[c] * inverse[c] * totals[0];
          sums[c] = totals[0] * share;
          sums[channels + c] = products * share;
        },
        x, dy);
    if (work.training && all_reduce_) all_reduce_({sums, 2 * channels_});
    if (!input_.tensor->needs_gradient) return;
    T* const dx = input_.gradients<T>();
    const InputTerm<A, kBefore, T> term{x, dy, dx, before, scales(work), sums, count_.data(), share, work.training, static_cast<unsigned>(channels_)};
    if constexpr (kBefore != Activation::none) {
      float* const bias_gradient = bias(work.gradients);
      column_sums_.sum<1>(
          rows(work), term,
          [=] __device__(unsigned c, const float(&totals)[1]) {
            if (bias_gradient != nullptr) bias_gradient[c] = totals[0];
          },
          x, dy, dx);
    } else {
      map_columns(device_.compute_stream(), rows(work), channels_, term, x, dy, dx);
    }
  }

  // Means and variances of the batch. With synchronised ranks, first the means, then the squared deviations from them.
  template <class T, class Before> void measure(const Work& work, const Before& before) {
    const T* const x = input_.values<T>();
    float* const mean = mean_.data();
    float* const inverse = inverse_.data();
    float* const sums = sums_.data();
    float* const moments = moments_.data();
    float* const count = count_.data();
    const auto own = static_cast<float>(rows(work));
    const std::size_t channels = channels_;
    float* const running = work.buffers + spec_.buffers.begin;
    const float* const bias = implied_bias(work.weights);
    const auto keep = static_cast<float>(spec_.config.momentum), rest = static_cast<float>(1 - spec_.config.momentum);
    const auto epsilon = static_cast<float>(spec_.config.epsilon);
    // Of one channel, from its mean and the sum of the squared deviations from it.
    const auto settle = [=] __device__(unsigned c, float all, float average, float squares) {
      mean[c] = average;
      if (c == 0) *count = all;
      if (all == 0) {
        inverse[c] = 0;
        return;
      }
      const float variance = squares / all;
      inverse[c] = static_cast<float>(1 / sqrt(static_cast<double>(variance) + epsilon));
      running[c] = keep * running[c] + rest * (bias == nullptr ? average : average + bias[c]);
      running[channels + c] = keep * running[channels + c] + rest * variance;
    };
    const bool alone = !all_reduce_;
    column_sums_.sum<2>(
        rows(work), MomentTerm<Before, T>{x, before},
        [=] __device__(unsigned c, const float(&totals)[2]) {
          const float shift = own > 0 ? before.template at<1>(c).value(0, widened(x[c])) : 0.0f, away = own > 0 ? totals[0] / own : 0.0f;
          const float squares = fmaxf(totals[1] - totals[0] * away, 0.0f);
          if (alone) return settle(c, own, shift + away, squares);
          mean[c] = shift + away;  // this rank's
          moments[c] = squares;
          sums[c] = (shift + away) * own;
          if (c == 0) sums[2 * channels] = own;
        },
        x);
    if (alone) return;
    all_reduce_({sums, 2 * channels_ + 1});
    for_each_index(device_.compute_stream(), channels_, [=] __device__(std::size_t c) {
      const float all = sums[2 * channels], average = all > 0 ? sums[c] / all : 0, away = mean[c] - average;
      mean[c] = average;
      sums[c] = moments[c] + own * away * away;
    });
    all_reduce_({sums, channels_});
    for_each_index(device_.compute_stream(), channels_, [=] __device__(std::size_t c) {
      settle(static_cast<unsigned>(c), sums[2 * channels], mean[c], sums[c]);
    });
  }

  void take_running(const Work& work) {
    const float* const running = work.buffers + spec_.buffers.begin;
    const float* const bias = implied_bias(work.weights);
    float* const mean = mean_.data();
    float* const inverse = inverse_.data();
    const auto epsilon = static_cast<float>(spec_.config.epsilon);
    const std::size_t channels = channels_;
    for_each_index(device_.compute_stream(), channels_, [=] __device__(std::size_t c) {
      mean[c] = bias == nullptr ? running[c] : running[c] - bias[c];
      inverse[c] = static_cast<float>(1 / sqrt(static_cast<double>(running[channels + c]) + epsilon));
    });
  }

 private:
  CudaDevice& device_;
  const LayerSpec spec_;
  const Unfinished before_;
  Activation activation_;
  std::vector<Port*> inputs_;       // what is normalised and, optionally, what is added to the result
  Port& input_;
  Tensor& output_;
  std::size_t channels_;
  ColumnSums column_sums_;
  Array<float> mean_, inverse_;
  Array<float> sums_;               // two per channel, then the number of elements
  Array<float> moments_;            // of this rank: squared deviations from its means
  Array<float> count_;              // samples times pixels, summed over synchronised ranks
  std::function<void(Vec)> all_reduce_;
};

}  // namespace

std::unique_ptr<Layer> make_batch_norm(CudaDevice& device, const LayerSpec& spec, const Unfinished& before, Activation activation,
                                       std::vector<Port*> inputs, Tensor& output) {
  return std::make_unique<BatchNorm>(device, spec, before, activation, std::move(inputs), output);
}

}  // namespace mgcompare::cuda
