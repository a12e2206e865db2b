#pragma once

// How calls to the MPI library fail.

#include <mpi.h>

#include <string>

#include "mgcompare/error.h"

namespace mgcompare {

inline std::string mpi_problem(int code, const char* what) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return std::string("MPI failed to ") + what + ": " + text + "; check the network between the hosts";
}

inline void expect_success(int code, const char* what) {
  if (code != MPI_SUCCESS) throw Error(mpi_problem(code, what));
}

constexpr std::size_t kLargestPart = std::size_t{1} << 30;  // MPI counts in int

}  // namespace mgcompare
