#pragma once

// Gated recurrent unit. The reset gate applies after the recurrent product: with the gates r, z and n in this order,
// n = tanh(W x + b + r * (R h + c)) and h' = (1 - z) * n + z * h.

#include <memory>

#include "cpu/layer.h"
#include "mgcompare/device.h"
#include "model/spec.h"

namespace mgcompare {

std::unique_ptr<Layer> make_gru(Device& device, const LayerSpec& spec, Port& input, Tensor& output);

}  // namespace mgcompare
