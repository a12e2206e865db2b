#pragma once

// Turns what CUDA's libraries report into Error. `what` completes the sentence "... while <what>".

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <nccl.h>

namespace mgcompare::cuda {

void check(cudaError_t status, const char* what);
void check(cudnnStatus_t status, const char* what);
void check(cublasStatus_t status, const char* what);
void check(ncclResult_t status, const char* what);

}  // namespace mgcompare::cuda
