#pragma once

// Checksums of each trial, and of the run: the tables `run` and `environment` and the numbers of all trials. They are the
// SHA-256 of all values, and tell values that changed in the file from those that were written. That of a trial covers its row
// in `trial` and its rows in `epoch`, `window`, `rank` and `metric`, and the identity of the run: a row of another run does not fit.
//
// A trial's checksum is that of the bytes of the identity, the columns of its row, and, if it has details, the digest of these as a text of 64
// hexadecimal digits. Details are hashed in the order of these four tables, and of `rowid` in each: a row is the name of its table and its
// columns. A column is its name and its value, without those that are null and `checksum`. A text, as names are, is its length in eight
// bytes and its bytes; a number has eight bytes; least significant byte first.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "results/sqlite.h"

namespace mgcompare {

// Key of the table `run`: random text, written before the first trial.
inline constexpr char kRunIdentity[] = "identity";
// Another key: SHA-256 of the token of the session that wrote last, and the number of its commits. The token itself is in the table of
// sessions only, where WrittenFile looks for it. No checksum covers this key.
inline constexpr char kLastCommit[] = "last_commit";

// Whether the rows of a trial are as they were written. False for a trial that the file does not have.
bool is_trial_intact(const Database& database, std::int64_t number);

// Writes the checksum of a trial, of what the file contains now. Call it after every change of its rows, in the same transaction
// as is_trial_intact() before the change: else it vouches for what another program wrote.
void seal_trial(const Database& database, std::int64_t number);
// The same for a trial that has no rows in the other tables.
void seal_new_trial(const Database& database, std::int64_t number);

// Tells which trials of a file are as they were written. Files before version 4 have no checksums; in those of version 4 rows of
// an even older version have none, and details are not covered.
class TrialSeals {
 public:
  // Reads the details of all trials.
  explicit TrialSeals(const Database& database);
  // `row` has all columns of `trial`. At most once for each.
  bool is_intact(const Columns& row);

 private:
  bool covers_details_;
  std::string identity_;
  std::map<std::int64_t, Sha256> details_;  // by trial
};

// The numbers of the trials that are as they were written.
std::vector<std::int64_t> intact_trials(const Database& database);

// The same for the run, under the key `checksum` of the table `run`. Files of older versions and those
// without a run have none and are intact.
void seal_run(const Database& database);
bool is_run_intact(const Database& database);

}  // namespace mgcompare
