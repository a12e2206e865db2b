#pragma once

// A descriptor of cuDNN's graph API: create, set attributes, finalize. Descriptors refer to those that were set as attributes,
// which must outlive them.

#include <cudnn.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace mgcompare::cuda {

class CudnnDescriptor {
 public:
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept;
  ~CudnnDescriptor();

  // Throw Error, with cuDNN's reason.
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, const void* values);
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, std::initializer_list<std::int64_t> values);
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, cudnnDataType_t value);
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value);

  // Returns whether cuDNN supports what the attributes describe.
  [[nodiscard]] bool finalize();
  cudnnBackendDescriptor_t get() const { return descriptor_; }

  // The number of values of an attribute that were written to `values`, which has room for `room` of them.
  std::int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t room, void* values) const;

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

}  // namespace mgcompare::cuda
