#pragma once

// How trials end, how far they are, and what a running one does. The names are part of the files of a run, of messages
// between processes, and of reports.

#include <string_view>

namespace mgcompare {

// How a trial, or another request to a worker, ended.
enum class TrialStatus {
  done,
  diverged,       // the loss is no longer finite
  failed,         // an error was thrown
  crashed,        // the worker process ended
  timeout,        // over a time limit, or no progress
  out_of_memory,  // of a device or of the host
  device_lost,    // a device stopped answering
  unavailable,    // the machine does not have what the trial needs; it never ran
  interrupted,    // stopped by the user
  damaged,        // its stored values do not match their checksum
};

// Of a row of the results.
enum class RowState { pending, running, finished };

// What a running trial is doing; `none` before its first report.
enum class TrialPhase { none, setup, warm_up, training, evaluation, checkpoint, teardown };

std::string_view to_string(TrialStatus status);  // "out of memory"
std::string_view to_string(RowState state);
std::string_view to_string(TrialPhase phase);    // "warm-up"; "" for none

// The reverse. They throw Error for an unknown name.
TrialStatus trial_status_of(std::string_view name);
RowState row_state_of(std::string_view name);
TrialPhase trial_phase_of(std::string_view name);

}  // namespace mgcompare
