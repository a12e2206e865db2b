// The bytes of which a trial's checksum is made: other programs, and other builds of this one, must find the same.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/sha256.h"
#include "results/results_store.h"
#include "results/sqlite.h"
#include "results/stored_run.h"

namespace mgcompare {
namespace {

std::string number_bytes(const void* number) { return {static_cast<const char*>(number), 8}; }

std::string text_bytes(std::string_view text) {
  const std::uint64_t length = text.size();
  return number_bytes(&length).append(text);
}

std::string bytes_of(const Columns& row) {
  std::string bytes;
  for (int column = 0; column < row.count(); ++column) {
    if (row.name(column) == "checksum") continue;
    const Value value = row.value(column);
    const std::string name = text_bytes(row.name(column));
    if (const auto* integer = std::get_if<std::int64_t>(&value)) bytes += name + number_bytes(integer);
    if (const auto* number = std::get_if<double>(&value)) bytes += name + number_bytes(number);
    if (const auto* text = std::get_if<std::string>(&value)) bytes += name + text_bytes(*text);
  }
  return bytes;
}

TEST(RowChecksum, IsOfIdentityColumnsAndDetails) {
  const Folder folder;
  make_run(folder.path());
  const Database database(folder.path(kResultsFile), Database::Mode::read);
  std::string details;
  for (const std::string table : {"epoch", "window", "rank", "metric"})
    database.query("SELECT * FROM " + table + " WHERE trial = 1 ORDER BY rowid", {},
                   [&](const Columns& row) { details += text_bytes(table) + bytes_of(row); });
  ASSERT_FALSE(details.empty());
  const std::string identity = database.text("SELECT value FROM run WHERE key = 'identity'");
  int rows = 0;
  database.query("SELECT * FROM trial WHERE number = 1", {}, [&](const Columns& row) {
    EXPECT_EQ(database.text("SELECT checksum FROM trial WHERE number = 1"), sha256(identity + bytes_of(row) + text_bytes(sha256(details))));
    ++rows;
  });
  EXPECT_EQ(rows, 1);
}

}  // namespace
}  // namespace mgcompare
