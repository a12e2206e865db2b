#pragma once

// Clocks, temperature, power and errors of GPUs, from NVML, the driver's management library. It is loaded at run time; the
// functions that are used are declared in nvml.cc.

#include <optional>
#include <string>
#include <vector>

namespace mgcompare::cuda {

class Nvml {
 public:
  // Throws Error if the library cannot be used.
  explicit Nvml(const std::string& file = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string driver_version() const;

  // State of the GPU at a PCI address. Values that NVML does not provide are left out.
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
