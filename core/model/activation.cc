#include "model/activation.h"

namespace mgcompare {

Activation activation_of(LayerType type) {
  if (type == LayerType::tanh) return Activation::tanh;
  if (type == LayerType::relu) return Activation::relu;
  if (type == LayerType::sigmoid) return Activation::sigmoid;
  return Activation::none;
}

}  // namespace mgcompare
