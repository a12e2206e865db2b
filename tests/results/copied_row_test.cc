// Rows that were copied in the results file, under another number, or from the file of another run.

#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

#include "results/results_store.h"
#include "results/sqlite.h"
#include "results/stored_run.h"

namespace mgcompare {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Whoever edits the file may copy a row. The copy is damaged, and the row that it was copied from is not.
TEST(CopiedRow, IsRemoved) {
  const Folder folder;
  make_run(folder.path());
  Database(folder.path(kResultsFile), Database::Mode::write)
      .script("CREATE TEMP TABLE copy AS SELECT * FROM trial WHERE number = 1; UPDATE copy SET number = 99, position = 98, sequence = 97;"
              "INSERT INTO trial SELECT * FROM copy");
  EXPECT_EQ(read_run(folder.path()).rows[0].result.status, TrialStatus::done);
  EXPECT_EQ(read_run(folder.path()).rows[3].result.status, TrialStatus::damaged);
  EXPECT_EQ(read_run(folder.path()).rows[3].trial.number, 99);
  ResultsStore results(folder.path());
  EXPECT_TRUE(results.resume(info(), {plan()[1]}, true).empty()) << "a part of the plan does not tell which rows are foreign";
  EXPECT_EQ(results.read().rows.size(), 4u);
  EXPECT_THAT(results.resume(info(), plan()), ElementsAre(HasSubstr("the damaged row 99 of")));
  EXPECT_EQ(results.read().rows.size(), 3u);
  EXPECT_TRUE(results.unfinished().empty());
}

// A row of another run, with its details, under the number that it had there: that run's checksum does not fit.
TEST(CopiedRow, FromAnotherRunIsDamaged) {
  const Folder folder;
  const std::string one = folder.path("one"), other = folder.path("other");
  make_run(one);
  make_run(other);
  EXPECT_EQ(read_run(one).rows[0].result.status, TrialStatus::done);
  const Database from(other + "/" + kResultsFile, Database::Mode::read), to(one + "/" + kResultsFile, Database::Mode::write);
  for (const auto& [table, key] : std::map<std::string, std::string>{
           {"trial", "number"}, {"epoch", "trial"}, {"window", "trial"}, {"rank", "trial"}, {"metric", "trial"}}) {
    to.run("DELETE FROM " + table + " WHERE " + key + " = 1");
    from.query("SELECT * FROM " + table + " WHERE " + key + " = 1", {}, [&](const Columns& row) {
      std::vector<Value> values;
      for (int column = 0; column < row.count(); ++column) values.push_back(row.value(column));
      std::string marks = "?";
      for (std::size_t more = 1; more < values.size(); ++more) marks += ", ?";
      to.run("INSERT INTO " + table + " VALUES (" + marks + ")", values);
    });
  }
  const mgcompare::Run run = read_run(one);
  EXPECT_EQ(run.rows[0].result.status, TrialStatus::damaged);
  EXPECT_EQ(run.rows[1].result.status, TrialStatus::done);
}

// Also where the copy took the number of a trial, or one that is none.
TEST(CopiedRow, UnderTheNumberOfATrialRunsAsThatTrial) {
  const Folder folder;
  make_run(folder.path());
  const std::string copy = "CREATE TEMP TABLE copy AS SELECT * FROM trial WHERE number = 1; UPDATE copy SET sequence = 97, ";
  Database(folder.path(kResultsFile), Database::Mode::write)
      .script(copy + "position = 98, number = 2; DELETE FROM trial WHERE number = 2; INSERT INTO trial SELECT * FROM copy");
  {
    ResultsStore results(folder.path());
    EXPECT_TRUE(results.resume(info(), plan()).empty());
    EXPECT_THAT(results.unfinished(), ElementsAre(2));
    EXPECT_EQ(results.read().rows.size(), 3u);
    EXPECT_EQ(results.read().rows[2].trial.strategy.label, "together");
  }
  Database(folder.path(kResultsFile), Database::Mode::write)
      .script(copy + "position = 99, number = 4294967297; INSERT INTO trial SELECT * FROM copy");
  EXPECT_THAT([&] { read_run(folder.path()); }, ThrowsMessage<BadResults>(HasSubstr("the number 4294967297 is out of range")));
}

}  // namespace
}  // namespace mgcompare
