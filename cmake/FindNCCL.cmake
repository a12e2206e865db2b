include(${CMAKE_CURRENT_LIST_DIR}/CudaLibrary.cmake)
mgcompare_cuda_library(NCCL nccl.h nccl nccl.h "NCCL_(MAJOR|MINOR|PATCH)")
