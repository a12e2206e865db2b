#include "check/observed_replica.h"

#include <optional>

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

// The forward pass is over when the first slice is ready. What `ready` itself does to the buffers is not the pass's.
void ObservedReplica::backward(const Batch& batch, const Ready& ready, Scale scale) {
  if (!ready) return watch([&] { inner_.backward(batch, ready, scale); });
  const std::vector<float> before = on_host(device(), buffers());
  std::optional<std::vector<float>> after;
  inner_.backward(batch, [&](Vec slice) {
    if (!after) after = on_host(device(), buffers());
    ready(slice);
  }, scale);
  passed_(before, after ? *after : on_host(device(), buffers()));
}

}  // namespace mgcompare
