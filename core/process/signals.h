#pragma once

// The runner's signals. The first INT, TERM or HUP asks for an end: the running trial stops after its step and the report
// is written. The second kills the workers and ends the program at once; results already acknowledged stay.

namespace mgcompare {

// Once, before the first child is started. Also ignores PIPE, so that a closed terminal is an error and not the end.
void listen_to_signals();
int interruption();                 // the signal that asked for an end, or 0
int interruption_descriptor();      // becomes readable with it, and stays so; -1 when nobody listens
// The exit code that a shell expects after `signal`: 130 for INT, 143 for TERM, and for HUP, which is taken like TERM.
int exit_code_of(int signal);

}  // namespace mgcompare
