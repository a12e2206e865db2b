#pragma once

// The progress that a running trial reports, and the files that it reads and writes.

#include <cstddef>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "results/status.h"

namespace mgcompare {

// Sent a few times per second by the thread of rank 0, for the progress bar and the time limits.
struct Progress {
  TrialPhase phase = TrialPhase::none;
  std::size_t epoch = 0, epochs = 0;
  std::size_t step = 0, steps = 0;  // in the epoch
  double loss = 0;
};

// What the runner tells a worker beside the trial.
struct TrialFiles {
  std::string checkpoint;           // where the trial's state is saved; empty: it is not
  bool resume = false;              // continue from `checkpoint` if it exists
  std::string record;               // schedule log for a replay; empty: none
  bool replay = false;              // follow the schedule in `record`
  std::string trace;                // trace of a few steps; empty: none
  std::string data_folder;          // given with --data; empty: not given
  bool send_data = false;           // the first host sends the samples to the others
  std::string scratch;              // folder for the files of a backend; chosen by the supervisor
  std::size_t most_steps = 0;       // train only so many steps, as TrainingRequest; 0: the whole trial
  std::string run = {};             // identity of the run: a checkpoint of another run is not used; empty: of no run
};

nlohmann::json progress_to_json(const Progress& progress);
Progress progress_from_json(const nlohmann::json& json);
nlohmann::json files_to_json(const TrialFiles& files);
TrialFiles files_from_json(const nlohmann::json& json);

}  // namespace mgcompare
