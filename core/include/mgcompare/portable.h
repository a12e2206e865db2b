#pragma once

// One spelling for functions that may run on any device. A source file compiled by g++ gives them a CPU body; the same
// file compiled by nvcc gives them a CPU and a GPU body.

#if defined(__CUDACC__)
#define MGCOMPARE_FUNCTION __host__ __device__
#else
#define MGCOMPARE_FUNCTION
#endif
