#pragma once

// What a run has found, in DIR/results.sqlite: written by one process at a time, one commit a trial, so that nothing
// that was acknowledged is ever lost; read by reports, during the run too. Times are seconds, sizes bytes; moments are
// UTC ("2024-05-01T12:00:00Z") and serve as labels only: order comes from sequence numbers.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/link_measurements.h"
#include "mgcompare/error.h"
#include "results/result.h"
#include "results/status.h"
#include "plan/trial.h"

namespace mgcompare {

inline constexpr char kResultSchema[] = "mgcompare.result/2";
inline constexpr char kResultsFile[] = "results.sqlite";

// The directory or the disk does not let the results be written (exit 4).
class NotWritable : public Error {
 public:
  using Error::Error;
};
// Another run writes to the directory, or it holds the run of another experiment (exit 5).
class InUse : public Error {
 public:
  using Error::Error;
};
// The file is there and cannot be read: damaged, of a newer version, or something else (exit 4). It is left as it is.
class BadResults : public Error {
 public:
  using Error::Error;
};

struct RunInfo {
  std::string schema = kResultSchema;
  std::string program_version;
  std::string name;                 // of the config
  std::string config_json;
  std::string config_hash;
  std::string config_yaml;          // resolved
  // What the command line gave beside the config's path and changes what runs ("--set", "epochs=1", "--data", "DIR");
  // absent in files of programs that did not keep it.
  std::optional<std::vector<std::string>> arguments;
  std::string started;              // when the run began first; made by begin()
  std::string data_name, data_origin, data_fingerprint;  // empty until record_data()
  std::vector<std::pair<std::string, std::string>> environment;  // in the order in which it is shown
  std::vector<std::string> warnings;  // of the plan
  std::vector<LinkMeasurements> links;         // as they were found before the first trial
  std::vector<std::string> taints;  // what makes the figures doubtful, of all sittings
};

struct Row {
  int position = 0;                 // in the plan's order of execution, counted from 0
  TrialKey trial;
  std::shared_ptr<const Config> config;  // the trial's; one object for all rows that have equal ones
  RowState state = RowState::pending;
  int attempt = 0;                  // how often it was started
  int sequence = 0;                 // the n-th to be finished, counted from 1; 0: not finished
  std::string started, finished;
  Result result;                    // of the last attempt, where finished
};

struct Run {
  std::string directory;
  RunInfo info;
  std::vector<Row> rows;            // by position
};

class ResultsStore {
 public:
  // Makes the directory and the file where they are not there, and locks the directory for this process. Throws
  // NotWritable, InUse, BadResults.
  explicit ResultsStore(const std::string& directory);
  ~ResultsStore();
  ResultsStore(ResultsStore&&) noexcept;

  // Whether no run has begun in this directory.
  bool empty() const;
  // Begins a run with its plan. Throws InUse where one has begun.
  void begin(const RunInfo& info, const std::vector<Trial>& plan);
  // Carries on with a run of an equal config: trials that were running count as pending again, trials of the plan that
  // it does not have yet are added. Throws InUse, naming the keys that differ, where the config or a trial is another.
  void resume(const RunInfo& info, const std::vector<Trial>& plan);
  // ResultsStore of different data never mix: throws InUse when the run has used other data.
  void record_data(const std::string& name, const std::string& origin, const std::string& fingerprint);

  // The trials still to run, in the plan's order: those that never finished, those that were interrupted, and, when
  // asked for, those that failed, crashed, took too long or lost their device.
  std::vector<Trial> unfinished(bool retry_failed = false) const;
  // The trial is about to run in process `pid` (0: not known).
  void start(const Trial& trial, std::int64_t pid = 0);
  // The trial has ended; on the disk when this returns. Throws NotWritable when the disk is full.
  void add(const Trial& trial, const Result& result);

  Run read() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The run in a directory, also while it is being written. Throws BadResults.
Run read_run(const std::string& directory);

// The directory below `folder` with the newest run of this config hash; empty where there is none. Directories that
// cannot be read are passed over.
std::string newest_run(const std::string& folder, const std::string& config_hash);

}  // namespace mgcompare
