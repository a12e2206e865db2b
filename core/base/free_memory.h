#pragma once

// Memory that this process can still use.

namespace mgcompare {

// Bytes that the machine, or the control group (version 2) of this process, has left; infinity if neither is known.
double free_memory();

// The same within the limits of this process (RLIMIT_DATA and RLIMIT_AS).
double usable_memory();

// Whether the stack of a new thread is larger than the memory that is left. A limit on threads has the same error code. Ask where
// the thread could not be started: threads that end return theirs.
bool lacks_memory_for_stack();

}  // namespace mgcompare
