#pragma once

// Texts of the system's error codes.

#include <string>

namespace mgcompare {

// strerror(). If the code means that a limit of this process was hit, also which one, and what to do: "Too many open files (this
// process may have 10: raise the limit with `ulimit -n`)".
std::string error_text(int code);

// For a message that memory is short: " (this process may have 200000000 bytes of address space: raise the limit with `ulimit -v`)", or ""
// if address space is not limited.
std::string memory_limit_note();
// For a process that a signal ended: ", perhaps at its limit of 60 s of processor time: raise it with `ulimit -t`", or "" if the signal has
// other causes: the kernel sends SIGXCPU at the soft limit of processor time and SIGKILL at the hard one, if there are any.
std::string processor_limit_note(int signal);

// The message with this note, if it speaks of memory and does not have the note.
std::string with_memory_limit(std::string message);

// Whether a limit of this process causes this error, so that neither the disk nor a file is to blame.
bool is_limit(int code);

}  // namespace mgcompare
