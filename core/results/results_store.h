#pragma once

// The results of a run, in DIR/results.sqlite. One process at a time writes it, with one commit per trial, so that no
// recorded trial is lost. Reports may read it during the run. Times are seconds, sizes bytes. Dates are UTC
// ("2024-05-01T12:00:00Z") and are labels only; sequence numbers give the order.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
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
inline constexpr char kWorkerLog[] = "worker.log";  // the output of the workers; missing if they printed nothing

// The results cannot be written to the directory or the disk (exit 4).
class NotWritable : public Error {
 public:
  using Error::Error;
};
// Another process writes to the directory, or it contains the run of another experiment (exit 5).
class InUse : public Error {
 public:
  using Error::Error;
};
// The file cannot be read: damaged, of a newer version, or not a results file (exit 4). It is not changed.
class BadResults : public Error {
 public:
  using Error::Error;
};

// A signal ended the reading of this file.
class ReadingStopped : public BadResults {
 public:
  explicit ReadingStopped(const std::string& path) : BadResults(path + ": reading was stopped by a signal") {}
};

struct RunInfo {
  std::string schema = kResultSchema;
  std::string program_version;
  // SHA-256 of the program and its back ends, by file name; empty in files of older versions.
  std::map<std::string, std::string> builds = {};
  std::string name;                 // of the config
  std::string config_json;
  std::string config_hash;
  std::string config_yaml;          // resolved
  // Options of the command line that change what runs ("--set", "epochs=1", "--data", "DIR"); absent in files of older
  // versions.
  std::optional<std::vector<std::string>> arguments;
  std::string started;              // when the run first began; set by begin()
  std::string data_name, data_origin, data_fingerprint;  // empty until record_data()
  std::string data_remark;          // a sentence that every report shows, such as that the samples are drawn
  std::vector<std::pair<std::string, std::string>> environment;  // in display order
  std::vector<std::string> warnings;  // of the plan
  std::vector<LinkMeasurements> links;  // measured before the first trial
  std::vector<std::string> taints;  // reasons to doubt the results, of all sessions of the run
};

struct Row {
  int position = 0;                 // in the planned order of execution, counted from 0
  TrialKey trial;
  std::shared_ptr<const Config> config;  // of the trial; rows with equal configs share one object
  RowState state = RowState::pending;
  int attempt = 0;                  // how often it was started
  int sequence = 0;                 // order of finishing, counted from 1; 0: not finished
  std::string started, finished;
  Result result;                    // of the last attempt, if finished

  bool is_done() const { return state == RowState::finished && result.status == TrialStatus::done; }
};

struct Run {
  std::string directory;
  RunInfo info;
  std::vector<Row> rows;            // by position
};

class WritingSession;

// All methods throw NotWritable if the directory was removed, moved or replaced since the constructor, or the file overwritten.
// Signals end what reads an existing run (ReadingStopped) until the first start(), add() or read().
class ResultsStore {
 public:
  // Creates the directory and the file if they do not exist, and locks the directory for this process. Throws
  // NotWritable, InUse, BadResults.
  explicit ResultsStore(const std::string& directory);
  ~ResultsStore();
  ResultsStore(ResultsStore&&) noexcept;

  // Whether no run has begun in this directory.
  bool empty() const;
  // Random text that tells this run from all others; empty if an older version began it.
  std::string identity() const;
  // The numbers of the blocks of its trials.
  std::set<int> blocks() const;
  // RunInfo::builds, which this session began or continued with.
  const std::map<std::string, std::string>& builds() const;
  // Begins a run with its plan. Throws InUse if the directory has a run.
  void begin(const RunInfo& info, const std::vector<Trial>& plan);
  // Continues a run of the same experiment: an equal config but for its name, its price, and how its hosts are started and
  // watched, of which the run takes the latter two. Trials that were running become pending; trials of the plan that the run lacks
  // are added; damaged ones run again, and finished ones whose plugin was built again since, or whose framework has other versions
  // now, with a sentence about each such plugin. Damaged rows of no trial of the plan are removed, with a sentence, unless the plan
  // `is_part` of that of the experiment. Throws InUse, naming what differs, if the config, a trial, the machine, the build of the
  // program or the version of a library is different.
  std::vector<std::string> resume(const RunInfo& info, const std::vector<Trial>& plan, bool is_part = false);
  // Adds trials to the run, behind those that it has. None of them may have a number of those.
  void extend(const std::vector<Trial>& trials);
  // Throws InUse if the run has used other data: results of different data are never mixed.
  void record_data(const std::string& name, const std::string& origin, const std::string& fingerprint, const std::string& remark = "");

  // The numbers of the trials still to run, by position: unfinished, interrupted and damaged ones, and with `retry_failed`
  // those that failed, crashed, timed out or lost their device.
  std::vector<int> unfinished(bool retry_failed = false) const;
  // Marks the trial as running in process `pid` (0: unknown). If another program changed its row, that is written again first.
  void start(const Trial& trial, std::int64_t pid = 0);
  // Records the result of a finished trial, and notes a changed row. It is on disk when this returns. Throws NotWritable if the disk is full.
  void add(const Trial& trial, const Result& result);

  Run read() const;
  // Ends the writing, and reads the file once more. Throws NotWritable if it does not hold `run`, because another program
  // changed the file or its log. No other call may follow.
  void close(const Run& run);

 private:
  std::unique_ptr<WritingSession> session_;
};

// Reads the run in a directory, also while it is being written. Throws BadResults.
Run read_run(const std::string& directory);

// Whether the directory has a results file.
bool has_run(const std::string& directory);

struct NewestRun {
  std::string directory;            // empty: there is none
  // A sentence about each directory with results that cannot be read or were changed: it may be the newest run.
  std::vector<std::string> doubtful;
};

// In `folder`, the newest run of the experiment with this config, whatever its name. Throws ReadingStopped.
NewestRun newest_run(const std::string& folder, const std::string& config_json);

}  // namespace mgcompare
