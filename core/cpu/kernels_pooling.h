// Max-pooling kernels. kernels_body.h includes this file once for each instruction set, after kernels_activation.h.

namespace mgcompare::MGCOMPARE_KERNELS {

void pool_row(const float* in, std::size_t width, std::size_t pool_height, std::size_t pool_width,
              Activation activation, float* out, std::uint8_t* choice) {
  with_activation(activation, [&](auto kind) {
    for (std::size_t x = 0; x < width / pool_width; ++x) {
      for (std::size_t lane = 0; lane < kLanes; lane += kWidth) {
        const float* const window = in + x * pool_width * kLanes + lane;
        Lanes best = at(window);
        Words winner = {};
        std::int32_t place = 0;
        for (std::size_t row = 0; row < pool_height; ++row) {
          for (std::size_t column = 0; column < pool_width; ++column, ++place) {
            const Lanes value = at(window + (row * width + column) * kLanes);
            // NaN must propagate, or divergence could go unnoticed.
            const auto stays = (value <= best) | (best != best);
            winner = stays ? winner : Words{} + place;
            best = stays ? best : value;
          }
        }
        at(out + x * kLanes + lane) = activated<kind()>(best);
        *reinterpret_cast<Bytes*>(choice + x * kLanes + lane) = __builtin_convertvector(winner, Bytes);
      }
    }
  });
}

void unpool_row(const float* gradient, const std::uint8_t* choice, std::size_t width, std::size_t pool_height,
                std::size_t pool_width, float* in_gradient) {
  const std::size_t pooled = width / pool_width;
  for (std::size_t row = 0; row < pool_height; ++row) {
    float* const line = in_gradient + row * width * kLanes;
    for (std::size_t x = pooled * pool_width; x < width; ++x) std::memset(line + x * kLanes, 0, kLanes * sizeof(float));
  }
  for (std::size_t x = 0; x < pooled; ++x) {
    for (std::size_t lane = 0; lane < kLanes; lane += kWidth) {
      const Lanes value = at(gradient + x * kLanes + lane);
      const Words winner =
          __builtin_convertvector(*reinterpret_cast<const Bytes*>(choice + x * kLanes + lane), Words);
      std::int32_t place = 0;
      for (std::size_t row = 0; row < pool_height; ++row) {
        for (std::size_t column = 0; column < pool_width; ++column, ++place) {
          at(in_gradient + (row * width + x * pool_width + column) * kLanes + lane) = winner == place ? value : Lanes{};
        }
      }
    }
  }
}

}  // namespace mgcompare::MGCOMPARE_KERNELS
