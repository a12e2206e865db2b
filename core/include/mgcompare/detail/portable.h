#pragma once

// Marks a function that runs on the host and on a GPU. nvcc compiles both versions, a C++ compiler only the host's.

#if defined(__CUDACC__)
#define MGCOMPARE_FUNCTION __host__ __device__
#else
#define MGCOMPARE_FUNCTION
#endif
