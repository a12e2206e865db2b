#include "check/observed_replica.h"

#include "measure/metered_device.h"

namespace mgcompare {

std::vector<float> on_host(Device& device, ConstVec vector) {
  auto* const metered = dynamic_cast<MeteredDevice*>(&device);
  Device& plain = metered == nullptr ? device : metered->unmetered();
  std::vector<float> values(vector.size());
  copy_to_host(plain, Vec(values.data(), values.size()), vector);
  plain.synchronize();
  return values;
}

}  // namespace mgcompare
