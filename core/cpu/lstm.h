#pragma once

// Long short-term memory: with the gates i, f, g and o in this order, c' = f * c + i * g and h' = o * tanh(c'). The gates i,
// f and o are sigmoids, g is a tanh.

#include <memory>

#include "cpu/layer.h"
#include "mgcompare/device.h"
#include "model/spec.h"

namespace mgcompare {

std::unique_ptr<Layer> make_lstm(Device& device, const LayerSpec& spec, Port& input, Tensor& output);

}  // namespace mgcompare
