#pragma once

// The fastest of a library's algorithms for a problem, by measurement. Choices are remembered in the process, and across
// processes in a file of the user's cache: mgcompare/algorithms below XDG_CACHE_HOME, by default ~/.cache. A cache that cannot
// be read or written is ignored. Thread-safe: one thread measures at a time.

#include <cstddef>
#include <functional>
#include <string>

#include <cuda_runtime_api.h>

namespace mgcompare::cuda {

// Whether kernels can be timed on the stream now: not while a graph is captured.
bool can_measure(cudaStream_t stream);

// The index of the fastest of `count` candidates. run(index) queues one on the stream and returns false if the library refuses
// it. `problem` names the problem and the library's version; the current device's name is added. Returns `count` if all are
// refused. The stream must not be capturing.
std::size_t fastest_algorithm(cudaStream_t stream, const std::string& problem, std::size_t count,
                              const std::function<bool(std::size_t)>& run);

}  // namespace mgcompare::cuda
