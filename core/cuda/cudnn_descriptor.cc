#include "cuda/cudnn_descriptor.h"

#include <utility>

#include "cuda/status.h"

namespace mgcompare::cuda {
namespace {
constexpr char kWhat[] = "describing a layer to cuDNN";
}

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  check(cudnnBackendCreateDescriptor(type, &descriptor_), kWhat);
}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, nullptr)) {}

CudnnDescriptor& CudnnDescriptor::operator=(CudnnDescriptor&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_ != nullptr) cudnnBackendDestroyDescriptor(descriptor_);
}

CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                                      const void* values) {
  check(cudnnBackendSetAttribute(descriptor_, name, type, count, values), kWhat);
  return *this;
}

CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t name, std::initializer_list<std::int64_t> values) {
  return set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.begin());
}

CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnDataType_t value) {
  return set(name, CUDNN_TYPE_DATA_TYPE, 1, &value);
}

CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
  return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.descriptor_);
}

bool CudnnDescriptor::finalize() { return cudnnBackendFinalize(descriptor_) == CUDNN_STATUS_SUCCESS; }

std::int64_t CudnnDescriptor::get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t room,
                                  void* values) const {
  std::int64_t count = 0;
  check(cudnnBackendGetAttribute(descriptor_, name, type, room, &count, values), kWhat);
  return count;
}

}  // namespace mgcompare::cuda
