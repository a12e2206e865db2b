#pragma once

// Versions of CUDA's libraries, and whether they are new enough.

#include <string>

namespace mgcompare::cuda {

struct Versions {
  int driver = 0;   // newest CUDA that the driver supports, 13000 means 13.0; 0: no driver
  int runtime = 0;  // CUDA runtime, linked into this program
  int cudnn = 0;    // 91900 is 9.19.0
  int nccl = 0;     // 22809 is 2.28.9

  // Of the libraries loaded into this process.
  static Versions found();
};

// 13000 as "13.0".
std::string cuda_version(int version);
// 22809 as "2.28.9". Also accepts the shorter numbers of cuDNN before 9 and of NCCL before 2.9.
std::string library_version(int version);

// A message with the found and the required version of everything that is too old or missing; empty if all are new enough.
std::string too_old(const Versions& versions);

}  // namespace mgcompare::cuda
