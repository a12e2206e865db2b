#pragma once

// The checkpoint of a trial: written at the ends of epochs, restored by a trial that resumes. On several hosts the first one writes and
// reads the file, with the state of all ranks.

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/checkpoint.h"
#include "train/training_state.h"

namespace mgcompare {

class TrialCheckpoint {
 public:
  explicit TrialCheckpoint(TrainingState& state);
  // Both are collective. save() enters the checkpoint phase if a checkpoint is due after this epoch, and else does nothing.
  // restore() does nothing if there is nothing to resume. A checkpoint that is damaged or belongs to another training is not
  // used: the trial begins anew, with a note in its result.
  void save(std::size_t rank, std::size_t epoch);
  void restore(std::size_t rank);

 private:
  bool is_due(std::size_t epoch) const;
  // Adds the ranks of the other hosts, on the first host.
  void gather_ranks();
  void write(std::size_t epoch);
  void restore_progress();
  // Sends the other hosts what the first one has read.
  void share_progress();
  // Throws Error or nlohmann's exception where the file does not fit.
  void read();

  TrainingState& state_;
  const std::uint64_t most_bytes_;  // of what is written and read
  const bool resumes_;
  std::string identity_;            // of this training; used by rank 0
  Checkpoint checkpoint_;
  bool is_too_large_ = false;       // whether one was not written; used by rank 0
};

}  // namespace mgcompare
