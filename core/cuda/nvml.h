#pragma once

// What the driver's management library says of a GPU: clocks, temperature, power, errors. It belongs to the driver and
// is opened at run time; the few functions of it that are used are declared here.

#include <optional>
#include <string>
#include <vector>

namespace mgcompare::cuda {

class Nvml {
 public:
  // Throws Error with the sentence that says why it cannot be used.
  explicit Nvml(const std::string& file = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string driver_version() const;

  // What it says of the GPU at a PCI address; what it does not know is left out.
  struct Condition {
    std::vector<std::string> notes;
    std::vector<std::string> problems;
  };
  Condition condition(const std::string& pci_address) const;

 private:
  struct Functions;
  using Handle = void*;
  template <class F>
  std::optional<unsigned> number(F function, Handle gpu) const;

  void* library_ = nullptr;
  Functions* functions_ = nullptr;
};

}  // namespace mgcompare::cuda
