#pragma once

// Settings of threads and processes that a plugin can change and that then apply to everything that runs after it: how
// arithmetic rounds, on which processors and with which priority a thread runs, limits, timers.

#include <map>
#include <string>

namespace mgcompare {

// Name of a setting -> its value as text: "rounding mode" -> "0".
using Settings = std::map<std::string, std::string>;

// Of the calling thread: modes of floating-point arithmetic, processors, priority, blocked signals. New threads inherit them.
Settings thread_settings();
// Of the calling process: working directory, umask, limits, huge and locked pages, timers, handlers of signals and of C++, scheduling, rights,
// groups of processes, environment, standard streams, locale. Not seen: what malloc was told (mallopt()), and handlers of fork().
Settings process_settings();

// Whether the kernel adds the processor time of children that end to that of this process. It does not while SIGCHLD is ignored.
bool counts_ended_children();

// Gives the calling thread the default modes of floating-point arithmetic: rounding to nearest, denormal numbers as they are, no
// traps. Libraries that were compiled with -ffast-math change them when they are opened.
void reset_arithmetic();

// The names of those with other values, as "the rounding mode and the processors"; "" if there are none.
std::string changed_settings(const Settings& before, const Settings& after);

}  // namespace mgcompare
