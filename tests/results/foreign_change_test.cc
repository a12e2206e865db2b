// Rows and tables that another program changed while a run is not finished.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "results/results_store.h"
#include "results/sqlite.h"
#include "results/stored_run.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

// The checksum of the row that is written then must not cover what another program wrote.
TEST(DamagedRow, ThatHasNotRunYetIsWrittenAgainWhenItRuns) {
  for (const char* change : {"UPDATE trial SET strategy = 'together' WHERE number = 1", "UPDATE trial SET started = 'long ago', attempt = 7 WHERE number = 1",
                             "UPDATE trial SET trial_json = replace(trial_json, 'alone', 'apart') WHERE number = 1",
                             "UPDATE trial SET position = 99999999999 WHERE number = 1", "UPDATE trial SET checksum = NULL WHERE number = 1",
                             "INSERT INTO epoch (trial, epoch, loss) VALUES (1, 7, 0.5)", "DELETE FROM trial WHERE number = 1"}) {
    for (const bool is_running : {false, true}) {
      const Folder folder;
      ResultsStore results(folder.path());
      results.begin(info(), plan());
      if (is_running) results.start(plan()[0]);
      Database(folder.path(kResultsFile), Database::Mode::write).script(change);
      if (!is_running) results.start(plan()[0]);
      results.add(plan()[0], make_result(1000, 8, 0.985));
      results.start(plan()[1]);
      results.add(plan()[1], make_result(1000, 8, 0.985));
      for (const Row& row : results.read().rows) {
        if (row.trial.number == 1) EXPECT_THAT(row.result.notes, ElementsAre(HasSubstr("another program changed the row of this trial"))) << change;
        else EXPECT_TRUE(row.result.notes.empty());
        if (row.trial.number == 3) continue;
        EXPECT_EQ(row.result.status, TrialStatus::done) << change;
        EXPECT_EQ(row.attempt, 1) << change;
        EXPECT_EQ(row.trial.strategy.label, plan()[static_cast<std::size_t>(row.trial.number - 1)].strategy.label) << change;
      }
      const Database database(folder.path(kResultsFile), Database::Mode::read);
      EXPECT_EQ(database.text("SELECT strategy FROM trial WHERE number = 1"), "alone") << change;
      EXPECT_EQ(database.integer("SELECT count(*) FROM trial WHERE attempt > 1 OR started = 'long ago'"), 0) << change;
      EXPECT_TRUE(results.read().info.taints.empty());
    }
  }
}

// Else the first statement that needs the column fails, after others have changed the file.
TEST(ForeignColumns, AreRefusedBeforeAnythingIsWritten) {
  for (const auto& [change, says] : {std::pair{"ALTER TABLE run ADD COLUMN seconds REAL", "the column 'seconds' in the table 'run'"},
                                     {"ALTER TABLE environment DROP COLUMN value", "the table 'environment' lacks the column 'value'"},
                                     {"ALTER TABLE session DROP COLUMN host", "the table 'session' lacks the column 'host'"},
                                     {"ALTER TABLE trial ADD COLUMN loss REAL", "the column 'loss' in the table 'trial'"},
                                     {"ALTER TABLE trial DROP COLUMN result_json", "the table 'trial' lacks the column 'result_json'"},
                                     {"ALTER TABLE epoch DROP COLUMN loss", "the table 'epoch' lacks the column 'loss'"},
                                     {"ALTER TABLE window ADD COLUMN loss REAL", "the column 'loss' in the table 'window'"},
                                     {"ALTER TABLE rank RENAME COLUMN seconds_input TO loss", "the table 'rank' lacks the column 'seconds_input'"},
                                     {"ALTER TABLE metric DROP COLUMN last; ALTER TABLE metric ADD COLUMN last REAL", "the columns of the table 'metric'"},
                                     {"ALTER TABLE metric DROP COLUMN last; ALTER TABLE metric ADD COLUMN last TEXT", "the columns of the table 'metric'"},
                                     {"ALTER TABLE config ADD COLUMN value TEXT", "the column 'value' in the table 'config'"},
                                     {"DROP TABLE window", "the table 'window' is missing"}}) {
    const Folder folder;
    {
      ResultsStore results(folder.path());
      results.begin(info(), plan());
      results.start(plan()[0]);
    }
    const std::string path = folder.path(kResultsFile);
    Database(path, Database::Mode::write).script(change);
    const auto bytes = [&] {
      std::ifstream file(path, std::ios::binary);
      return std::string(std::istreambuf_iterator<char>(file), {});
    };
    const std::string before = bytes();
    EXPECT_THAT([&] { ResultsStore(folder.path()).resume(info(), plan()); },
                ThrowsMessage<BadResults>(AllOf(HasSubstr(says), HasSubstr("the file is not changed")))) << change;
    EXPECT_EQ(bytes(), before) << change;
    EXPECT_THAT([&] { read_run(folder.path()); }, ThrowsMessage<BadResults>(HasSubstr(says))) << change;
  }
}

}  // namespace
}  // namespace mgcompare
