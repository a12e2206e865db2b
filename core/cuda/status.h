#pragma once

// Converts error codes of CUDA's libraries into exceptions. `what` completes the message "... while <what>".

#include <cstddef>

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <nccl.h>

// Missing in older versions of NCCL. Weak symbols let the module load with these and report both versions (versions.h).
#pragma weak ncclCommWindowDeregister
#pragma weak ncclCommWindowRegister
#pragma weak ncclGetLastError
#pragma weak ncclMemAlloc

namespace mgcompare::cuda {

// Throw Error, OutOfMemory or DeviceLost unless the status is success.
void check(cudaError_t status, const char* what);
void check(cudnnStatus_t status, const char* what);
void check(cublasStatus_t status, const char* what);
void check(ncclResult_t status, const char* what);

// Whether NCCL failed because it could not allocate `bytes` bytes on the current device. NCCL reports this with the same codes
// as other CUDA and system errors. Throws DeviceLost if the device was lost.
bool ran_out_of_memory(ncclResult_t status, std::size_t bytes, const char* what);

}  // namespace mgcompare::cuda
