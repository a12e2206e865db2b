#pragma once

// Runs each rank on a thread of this process.

#include <cstddef>
#include <exception>
#include <functional>

namespace mgcompare {

// Gets the error that ended the ranks. Must not return, because ranks may still be running and use the caller's objects.
using Leave = std::function<void(std::exception_ptr cause)>;

// Runs body(rank) on one thread per rank and joins all threads. When a rank throws, `abort` is called once, on that rank's
// thread, to make the other ranks unwind; the first error that is not Aborted is rethrown. With `leave`, that is called
// with the error instead, after all ranks have returned or after a timeout: a kernel that waits for another GPU may only
// end with its process, and a rank or destructor that waits for the kernel then never returns.
void run_ranks(std::size_t ranks, const std::function<void(int rank)>& body, const std::function<void()>& abort,
               const Leave& leave = {});

}  // namespace mgcompare
