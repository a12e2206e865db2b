#pragma once

// N ranks as N threads of this process.

#include <cstddef>
#include <exception>
#include <functional>

namespace mgcompare {

// Takes the error for which the ranks were aborted. Does not return: ranks that are still at work use everything.
using Leave = std::function<void(std::exception_ptr cause)>;

// Runs body(rank) on a thread of its own for every rank and joins them all. When a rank throws, `abort` is called (once,
// from that rank's thread) so that the others unwind; the first error that is not Aborted is thrown on. Given `leave`,
// that is called with it instead, when all ranks are back, or after some seconds without: a kernel that waits for another
// GPU may end with its process only, and a rank that waits for it, or a destructor, never comes back.
void run_ranks(std::size_t ranks, const std::function<void(int rank)>& body, const std::function<void()>& abort,
               const Leave& leave = {});

}  // namespace mgcompare
