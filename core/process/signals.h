#pragma once

// Signals of the runner. After the first INT, TERM, HUP, QUIT, USR1, USR2, XCPU, ALRM or PWR the running trial stops after its step, and the report is written.
// Signals within half a second of the first count as the same one: `timeout`, for example, signals the process and then its
// group. A later one ends the program at once, and with it the workers; recorded results are kept. A file that is cut while it is
// mapped ends it too, with a sentence and exit code 4.

namespace mgcompare {

// Call once, before the first child is started. Also ignores PIPE, so that writing to a closed pipe is an error of the call.
void listen_to_signals();
int interruption();                 // the first signal received, or 0
int interruption_descriptor();      // readable from then on; -1 before listen_to_signals()
// The exit code after `signal`: 130 for INT, 143 for the others.
int exit_code_of(int signal);

}  // namespace mgcompare
