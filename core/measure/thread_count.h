#pragma once

#include <cstddef>

namespace mgcompare {

// Threads that this process has at present, as the kernel counts them.
std::size_t thread_count();

}  // namespace mgcompare
