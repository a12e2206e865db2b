#pragma once

// The threads of this process and their processor time, as the kernel counts them.

#include <cstddef>

namespace mgcompare {

// Seconds of processor time of all threads of the process, also of those that have ended.
double process_processor_seconds();
// Of the calling thread.
double thread_processor_seconds();
// Threads that the process has at present.
std::size_t thread_count();

}  // namespace mgcompare
