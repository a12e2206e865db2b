#pragma once

// N ranks as N threads of this process.

#include <cstddef>
#include <exception>
#include <functional>

namespace mgcompare {

// Takes the error for which the ranks were aborted. Does not return: ranks that are still at work use everything.
using Leave = std::function<void(std::exception_ptr cause)>;

// Runs body(rank) on a thread of its own for every rank and joins them all. When a rank throws, `abort` is called (once,
// from that rank's thread) so that the others unwind; the first error that is not Aborted is thrown on. Ranks that abort()
// could not free some seconds later never come back: a kernel that waits for another GPU ends with its process only.
// Then `leave` is called; without one they are waited for.
void run_ranks(std::size_t ranks, const std::function<void(int rank)>& body, const std::function<void()>& abort,
               const Leave& leave = {});

}  // namespace mgcompare
