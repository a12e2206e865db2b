#include "model/activation.h"

namespace mgcompare {

Activation activation_of(std::string_view type) {
  if (type == "tanh") return Activation::tanh;
  if (type == "relu") return Activation::relu;
  if (type == "sigmoid") return Activation::sigmoid;
  return Activation::none;
}

}  // namespace mgcompare
