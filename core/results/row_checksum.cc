#include "results/row_checksum.h"

#include <fmt/format.h>

#include <string_view>

#include "results/results_schema.h"

namespace mgcompare {
namespace {

const std::string kChecksum = "checksum";
constexpr const char* kDetails[] = {"epoch", "window", "rank", "metric"};  // their first column is the trial

int column_of(const Columns& row, std::string_view name) {
  for (int column = 0; column < row.count(); ++column)
    if (row.name(column) == name) return column;
  return -1;
}

void add_bytes(std::string& bytes, const void* data, std::size_t size) { bytes.append(static_cast<const char*>(data), size); }

void add_text(std::string& bytes, std::string_view text) {
  const std::uint64_t size = text.size();
  add_bytes(bytes, &size, sizeof(size));
  bytes += text;
}

// All columns but `checksum`. Null values do not count, so that columns may be added.
void add_columns(std::string& bytes, const Columns& row) {
  for (int column = 0; column < row.count(); ++column) {
    const Value value = row.value(column);
    const std::string_view name = row.name(column);
    if (std::holds_alternative<std::nullptr_t>(value) || name == kChecksum) continue;
    add_text(bytes, name);
    if (const auto* integer = std::get_if<std::int64_t>(&value)) add_bytes(bytes, integer, sizeof(*integer));
    if (const auto* number = std::get_if<double>(&value)) add_bytes(bytes, number, sizeof(*number));
    if (const auto* text = std::get_if<std::string>(&value)) add_text(bytes, *text);
  }
}

// `bytes` is memory that is used again.
void add_row(Sha256& hash, const char* table, const Columns& row, std::string& bytes) {
  bytes.clear();
  add_text(bytes, table);
  add_columns(bytes, row);
  hash.add(bytes.data(), bytes.size());
}

// Older files have none.
std::string identity_of(const Database& database) {
  std::string identity;
  database.query("SELECT value FROM run WHERE key = ?", {std::string(kRunIdentity)}, [&](const Columns& row) { identity = row.text(0); });
  return identity;
}

// `details`: the hash of the trial's rows in the other tables, which ends here; null without such rows.
std::string trial_checksum(const std::string& identity, const Columns& row, Sha256* details) {
  std::string bytes = identity;
  add_columns(bytes, row);
  if (details != nullptr) add_text(bytes, details->digest());
  return sha256(bytes);
}

void add(Sha256& hash, const std::string& text) {
  const std::uint64_t size = text.size();
  hash.add(&size, sizeof(size));
  hash.add(text.data(), text.size());
}

std::string run_checksum(const Database& database) {
  Sha256 hash;
  database.query("SELECT key, value FROM run WHERE key NOT IN (?, ?) ORDER BY key", {kChecksum, kLastCommit}, [&](const Columns& row) {
    add(hash, row.text(0));
    add(hash, row.text(1));
  });
  database.query("SELECT key, value FROM environment ORDER BY position", {}, [&](const Columns& row) {
    add(hash, row.text(0));
    add(hash, row.text(1));
  });
  // The values of trials have checksums of their own, which do not tell that a trial is missing.
  database.query("SELECT number FROM trial ORDER BY number", {}, [&](const Columns& row) { add(hash, row.text(0)); });
  return hash.digest();
}

}  // namespace

// That of the trial as the file contains it; empty if it does not.
static std::string present_checksum(const Database& database, std::int64_t number, Sha256* details) {
  const std::string identity = identity_of(database);
  std::string checksum;
  database.query("SELECT * FROM trial WHERE number = ?", {number},
                 [&](const Columns& row) { checksum = trial_checksum(identity, row, details); });
  return checksum;
}

static std::string present_checksum(const Database& database, std::int64_t number) {
  Sha256 details;
  bool has_details = false;
  std::string bytes;
  for (const char* table : kDetails) {
    database.query(fmt::format("SELECT * FROM {} WHERE trial = ? ORDER BY rowid", table), {number}, [&](const Columns& row) {
      add_row(details, table, row, bytes);
      has_details = true;
    });
  }
  return present_checksum(database, number, has_details ? &details : nullptr);
}

static void store_checksum(const Database& database, std::int64_t number, const std::string& checksum) {
  database.run("UPDATE trial SET checksum = ? WHERE number = ?", {checksum, number});
}

bool is_trial_intact(const Database& database, std::int64_t number) {
  std::string stored;
  database.query("SELECT checksum FROM trial WHERE number = ?", {number}, [&](const Columns& row) { stored = row.text(0); });
  return !stored.empty() && stored == present_checksum(database, number);
}

void seal_new_trial(const Database& database, std::int64_t number) {
  store_checksum(database, number, present_checksum(database, number, nullptr));
}

void seal_trial(const Database& database, std::int64_t number) {
  store_checksum(database, number, present_checksum(database, number));
}

TrialSeals::TrialSeals(const Database& database)
    : covers_details_(schema_version(database) >= kDetailsCovered), identity_(identity_of(database)) {
  if (!covers_details_) return;
  std::string bytes;
  for (const char* table : kDetails) {
    // Memory is in proportion to the trials, whatever else the table contains.
    database.query(fmt::format("SELECT * FROM {} WHERE trial IN (SELECT number FROM trial) ORDER BY rowid", table), {},
                   [&](const Columns& row) { add_row(details_[row.integer(0)], table, row, bytes); });
  }
}

bool TrialSeals::is_intact(const Columns& row) {
  const int column = column_of(row, kChecksum);
  const std::string stored = column < 0 ? "" : row.text(column);
  if (stored.empty()) return !covers_details_;
  const auto details = details_.find(row.integer(column_of(row, "number")));
  return stored == trial_checksum(identity_, row, details == details_.end() ? nullptr : &details->second);
}

std::vector<std::int64_t> intact_trials(const Database& database) {
  std::vector<std::int64_t> intact;
  TrialSeals seals(database);
  database.query("SELECT * FROM trial", {}, [&](const Columns& row) {
    if (seals.is_intact(row)) intact.push_back(row.integer(column_of(row, "number")));
  });
  return intact;
}

void seal_run(const Database& database) {
  database.run("INSERT INTO run VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
               {kChecksum, run_checksum(database)});
}

bool is_run_intact(const Database& database) {
  std::string stored;
  database.query("SELECT value FROM run WHERE key = ?", {kChecksum}, [&](const Columns& row) { stored = row.text(0); });
  if (!stored.empty()) return stored == run_checksum(database);
  return schema_version(database) < kRunCovered || database.integer("SELECT count(*) FROM trial") == 0;
}

}  // namespace mgcompare
