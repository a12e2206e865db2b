#pragma once

// The numbers by which CUDA's libraries say their versions, and whether they are new enough.

#include <string>

namespace mgcompare::cuda {

struct Versions {
  int driver = 0;   // the newest CUDA that the driver supports, 13000 is 13.0; 0: there is no driver
  int runtime = 0;  // CUDA, inside this program
  int cudnn = 0;    // 91900 is 9.19.0
  int nccl = 0;     // 22809 is 2.28.9

  // Of this process.
  static Versions found();
};

// "13.0" of 13000.
std::string cuda_version(int version);
// "2.28.9" of 22809; also the shorter numbers of cuDNN before 9 and of NCCL before 2.9.
std::string library_version(int version);

// A sentence with both versions for whatever is too old or missing; empty where all will do.
std::string too_old(const Versions& versions);

}  // namespace mgcompare::cuda
