#include "results/row_checksum.h"

#include "base/sha256.h"
#include "results/results_schema.h"

namespace mgcompare {
namespace {

const std::string kChecksum = "checksum";

void add(Sha256& hash, const std::string& text) {
  const std::uint64_t size = text.size();
  hash.add(&size, sizeof(size));
  hash.add(text.data(), text.size());
}

std::string run_checksum(const Database& database) {
  Sha256 hash;
  database.query("SELECT key, value FROM run WHERE key <> ? ORDER BY key", {kChecksum}, [&](const Columns& row) {
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

std::string row_checksum(const Columns& row) {
  Sha256 hash;
  for (int column = 0; column < row.count(); ++column) {
    const Value value = row.value(column);
    const std::string name = row.name(column);
    if (std::holds_alternative<std::nullptr_t>(value) || name == kChecksum) continue;
    add(hash, name);
    if (const auto* integer = std::get_if<std::int64_t>(&value)) hash.add(integer, sizeof(*integer));
    if (const auto* number = std::get_if<double>(&value)) hash.add(number, sizeof(*number));
    if (const auto* text = std::get_if<std::string>(&value)) add(hash, *text);
  }
  return hash.digest();
}

void seal_trial(const Database& database, std::int64_t number) {
  std::string checksum;
  database.query("SELECT * FROM trial WHERE number = ?", {number}, [&](const Columns& row) { checksum = row_checksum(row); });
  database.run("UPDATE trial SET checksum = ? WHERE number = ?", {checksum, number});
}

void seal_run(const Database& database) {
  database.run("INSERT INTO run VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
               {kChecksum, run_checksum(database)});
}

bool is_run_intact(const Database& database) {
  std::string stored;
  database.query("SELECT value FROM run WHERE key = ?", {kChecksum}, [&](const Columns& row) { stored = row.text(0); });
  if (!stored.empty()) return stored == run_checksum(database);
  return schema_version(database) < kSchemaVersion || database.integer("SELECT count(*) FROM trial") == 0;
}

}  // namespace mgcompare
