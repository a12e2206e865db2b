#pragma once

// The largest batch with which a trial fits into memory, found by training with smaller ones: some steps, the last batch of an epoch,
// which may have another size, and a pass of the evaluation. For fragments of memory that a longer training leaves, a twentieth of
// `measure.memory_limit` is kept in reserve.

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "plan/trial.h"
#include "process/supervisor.h"
#include "results/result.h"

namespace mgcompare {

class FittingBatch {
 public:
  // How a trial with this batch ends that trains enough to need all its memory.
  using Attempt = std::function<TrialStatus(const Trial&)>;

  // For a trial that ran out of memory: searches, and adds what it found to the result. Once for each row; its repeats get the
  // same. Other trials stay as they are.
  void add_to(Result& result, const Trial& trial, const Attempt& attempt);

 private:
  // As in `scaling.batch`.
  struct Found {
    std::size_t fits = 0;           // 0: none was found
    std::size_t fails = 0;          // the smallest that did not fit
    bool is_known = true;           // the search ended by itself
    bool is_of_batch = true;        // false: the first steps of the trial itself fit
  };
  static Found search(const Trial& trial, const Attempt& attempt);

  std::map<std::string, Found> found_;  // by row
};

// Trains so much of the trial in a worker.
TrialStatus attempt_in_worker(Supervisor& supervisor, const Trial& trial, const std::string& data_folder);

}  // namespace mgcompare
