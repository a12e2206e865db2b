#include "cli/replay.h"
#include "base/text.h"

#include <filesystem>

#include <fmt/core.h>

#include "cli/run_command.h"
#include "process/message.h"
#include "mgcompare/error.h"
#include "process/signals.h"

namespace mgcompare {

int replay_run(const Command& command) {
  const Run run = read_run(command.target);
  Supervisor supervisor(trial_settings(command.target));
  int replayed = 0, same = 0;
  for (const Row& row : run.rows) {
    TrialFiles files;
    files.record = record_of(row.trial, command.target);
    files.replay = true;
    if (row.state != RowState::finished || row.result.status != TrialStatus::done || !std::filesystem::exists(files.record)) continue;
    if (interruption() != 0) return exit_code_of(interruption());
    Trial trial{row.trial, *row.config};
    trial.data_fingerprint = run.info.data_fingerprint;
    const Result result = supervisor.run(trial, files, [](const Progress&) {});
    const bool equal = result.status == TrialStatus::done && result.weights_hash == row.result.weights_hash;
    ++replayed;
    same += equal ? 1 : 0;
    fmt::print("{:<8} {}, seed {}: {}\n", equal ? "ok" : "FAILED", row_name(trial), trial.seed,
               equal                     ? "the same weights, bit by bit"
               : result.status == TrialStatus::done ? "other weights than in the run"
                                         : plain(fmt::format("{} ({})", result.cause, to_string(result.status))));
  }
  if (replayed == 0)
    throw Error(command.target + " contains no record of a finished trial: only strategies with the trait free pace write one, and only with "
                "`measure: {record: true}`");
  fmt::print("{} of {} trials ended with the same weights\n", same, replayed);
  return same == replayed ? kDone : kProblemFound;
}

}  // namespace mgcompare
