#pragma once

// Turns what CUDA's libraries report into Error. `what` completes the sentence "... while <what>".

#include <cstddef>

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <nccl.h>

// An NCCL that is too old lacks these. The module opens all the same, and says both versions (versions.h).
#pragma weak ncclCommWindowDeregister
#pragma weak ncclCommWindowRegister
#pragma weak ncclGetLastError
#pragma weak ncclMemAlloc

namespace mgcompare::cuda {

void check(cudaError_t status, const char* what);
void check(cudnnStatus_t status, const char* what);
void check(cublasStatus_t status, const char* what);
void check(ncclResult_t status, const char* what);

// Whether NCCL failed for want of `asked` bytes on the current device, which it does not tell from other failures of
// CUDA or of the system. Throws DeviceLost where that is why.
bool ran_out_of_memory(ncclResult_t status, std::size_t asked, const char* what);

}  // namespace mgcompare::cuda
