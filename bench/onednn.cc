// oneDNN's convolutions for LeNet's shapes, in oneDNN's preferred layouts and without the reorders that a network would need:
// the baseline for core/cpu/convolution.cc (docs/performance/cpu.md).

#include <benchmark/benchmark.h>
#include <dnnl.hpp>
#include <omp.h>

#include <cstring>
#include <unordered_map>

namespace {

using dnnl::algorithm;
using dnnl::memory;
using tag = dnnl::memory::format_tag;

constexpr auto kFloat = memory::data_type::f32;

// Forward with bias, weight gradient and, if `data_gradient`, data gradient; without activation and pooling.
void convolution(benchmark::State& state, memory::dim channels, memory::dim size, memory::dim outputs, bool data_gradient) {
  omp_set_num_threads(1);
  const memory::dim batch = state.range(0), kernel = 5, out = size - kernel + 1;
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const memory::desc source({batch, channels, size, size}, kFloat, tag::any);
  const memory::desc weights({outputs, channels, kernel, kernel}, kFloat, tag::any);
  const memory::desc bias({outputs}, kFloat, tag::a);
  const memory::desc target({batch, outputs, out, out}, kFloat, tag::any);
  const memory::dims one{1, 1}, none{0, 0};
  const auto direct = algorithm::convolution_direct;
  const dnnl::convolution_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, direct, source, weights, bias, target, one, none, none}, engine);
  const dnnl::convolution_backward_weights::primitive_desc back_weights(
      {direct, source, weights, bias, target, one, none, none}, engine, forward);
  const auto zeroed = [&](const memory::desc& description) {
    memory made(description, engine);
    std::memset(made.get_data_handle(), 0, description.get_size());
    return made;
  };
  const memory in = zeroed(forward.src_desc()), w = zeroed(forward.weights_desc()), b = zeroed(bias);
  const memory result = zeroed(forward.dst_desc()), slopes = zeroed(back_weights.diff_dst_desc());
  const memory in_again = zeroed(back_weights.src_desc()), w_slopes = zeroed(back_weights.diff_weights_desc());
  const dnnl::convolution_forward run_forward(forward);
  const dnnl::convolution_backward_weights run_weights(back_weights);
  dnnl::convolution_backward_data run_data;
  std::unordered_map<int, memory> data_arguments;
  if (data_gradient) {
    const dnnl::convolution_backward_data::primitive_desc back({direct, source, weights, target, one, none, none}, engine,
                                                               forward);
    run_data = dnnl::convolution_backward_data(back);
    data_arguments = {{DNNL_ARG_DIFF_DST, zeroed(back.diff_dst_desc())},
                      {DNNL_ARG_WEIGHTS, zeroed(back.weights_desc())},
                      {DNNL_ARG_DIFF_SRC, zeroed(back.diff_src_desc())}};
  }
  for (auto _ : state) {
    run_forward.execute(stream, {{DNNL_ARG_SRC, in}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_BIAS, b}, {DNNL_ARG_DST, result}});
    run_weights.execute(stream, {{DNNL_ARG_SRC, in_again}, {DNNL_ARG_DIFF_DST, slopes},
                                 {DNNL_ARG_DIFF_WEIGHTS, w_slopes}, {DNNL_ARG_DIFF_BIAS, b}});
    if (data_gradient) run_data.execute(stream, data_arguments);
    stream.wait();
  }
  state.counters["samples_per_second"] =
      benchmark::Counter(static_cast<double>(batch), benchmark::Counter::kIsIterationInvariantRate);
}

void onednn_convolution_1(benchmark::State& state) { convolution(state, 1, 28, 20, false); }
void onednn_convolution_2(benchmark::State& state) { convolution(state, 20, 12, 50, true); }

BENCHMARK(onednn_convolution_1)->Arg(64)->Arg(128)->Arg(512)->Unit(benchmark::kMillisecond);
BENCHMARK(onednn_convolution_2)->Arg(64)->Arg(128)->Arg(512)->Unit(benchmark::kMillisecond);

}  // namespace
