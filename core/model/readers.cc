#include "model/readers.h"

namespace mgcompare {

Readers::Readers(const NetworkSpec& spec) : spec_(spec), counts_(spec.layers.size() + 1, 0) {
  for (const LayerSpec& layer : spec.layers)
    for (const int input : layer.inputs) ++counts_[static_cast<std::size_t>(input + 1)];
}

bool Readers::is_only_reader(std::size_t index, std::size_t producer) const {
  return index < spec_.layers.size() && count(producer) == 1 && spec_.layers[index].inputs.size() == 1 &&
         spec_.layers[index].inputs.front() == static_cast<int>(producer);
}

}  // namespace mgcompare
