#pragma once

// N ranks as N threads of this process.

#include <cstddef>
#include <exception>
#include <functional>

namespace mgcompare {

// Runs body(rank) on a thread of its own for every rank and joins them all. When a rank throws, `abort` is called (once,
// from that rank's thread) so that the others unwind; the first error that is not Aborted is thrown on.
void run_ranks(std::size_t ranks, const std::function<void(int rank)>& body, const std::function<void()>& abort);

}  // namespace mgcompare
