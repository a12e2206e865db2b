#pragma once

// What a running trial reports, and the files that it reads and writes.

#include <cstddef>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "results/status.h"

namespace mgcompare {

// Said a few times a second from one rank's thread: a sign of life, and the progress bar.
struct Progress {
  TrialPhase phase = TrialPhase::none;
  std::size_t epoch = 0, epochs = 0;
  std::size_t step = 0, steps = 0;  // of the epoch
  double loss = 0;
};

struct TrialFiles {
  std::string checkpoint;           // where to keep the trial's state; empty: nowhere
  bool resume = false;              // continue from `checkpoint` when it is there
  std::string record;               // where to keep what a replay needs; empty: nowhere
  bool replay = false;              // repeat what `record` says
  std::string trace;                // where to keep what the ranks did in a few steps; empty: nowhere
  std::string data_folder;          // of the data set, given with --data; empty: not given
};

nlohmann::json progress_to_json(const Progress& progress);
Progress progress_from_json(const nlohmann::json& json);

}  // namespace mgcompare
