include(${CMAKE_CURRENT_LIST_DIR}/CudaLibrary.cmake)
mgcompare_cuda_library(cuDNN cudnn.h cudnn cudnn_version.h "CUDNN_(MAJOR|MINOR|PATCHLEVEL)")
