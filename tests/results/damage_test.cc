// Files that are not results, and damaged results.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "results/row_checksum.h"
#include "results/sqlite.h"
#include "results/results_store.h"
#include "results/runs.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

struct BadStore {
  const char* name;
  std::function<void(const std::string& path)> make;
  const char* says;
};
void PrintTo(const BadStore& store, std::ostream* out) { *out << store.name; }

// The file of a run that has begun: without one the store leaves nothing behind.
void begin_run(const std::string& path) {
  ResultsStore(std::filesystem::path(path).parent_path().string()).begin(RunMaker().run.info, {});
}

// A results file, changed by these statements.
auto with(const char* sql) {
  return [sql](const std::string& path) {
    begin_run(path);
    Database(path, Database::Mode::write).script(sql);
  };
}

class ResultsRefuse : public testing::TestWithParam<BadStore> {};

TEST_P(ResultsRefuse, AndLeaveTheFileAsItIs) {
  const Folder folder;
  const std::string path = folder.path(kResultsFile);
  GetParam().make(path);
  const auto content = [&] {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const bool is_file = std::filesystem::is_regular_file(path);
  const std::string before = is_file ? content() : "";
  EXPECT_THAT([&] { ResultsStore results(folder.path()); },
              ThrowsMessage<BadResults>(AllOf(HasSubstr(GetParam().says), HasSubstr("the file is not changed"))));
  EXPECT_THAT([&] { read_run(folder.path()); }, ThrowsMessage<BadResults>(HasSubstr(GetParam().says)));
  EXPECT_EQ(std::filesystem::is_regular_file(path), is_file);
  EXPECT_EQ(is_file ? content() : "", before);
}

INSTANTIATE_TEST_SUITE_P(
    Stores, ResultsRefuse,
    testing::Values(
        BadStore{"Empty", [](const std::string& path) { std::ofstream{path}; }, "empty"},
        BadStore{"Text", [](const std::string& path) { std::ofstream(path) << std::string(9000, 'x'); },
                 "damaged (file is not a database)"},
        BadStore{"HeaderOnly", [](const std::string& path) { std::ofstream(path) << "SQLite format 3" << '\0'; },
                 "database"},
        BadStore{"OtherProgram",
                 [](const std::string& path) { Database(path, Database::Mode::create).script("CREATE TABLE a (b)"); },
                 "not a results file"},
        BadStore{"Newer",
                 [](const std::string& path) {
                   begin_run(path);
                   Database(path, Database::Mode::write).script("PRAGMA user_version = 9");
                 },
                 "written by a newer mgcompare (format 9, this program reads up to 5)"},
        BadStore{"View", with("DROP TABLE run; CREATE VIEW run AS WITH RECURSIVE c (key, value) AS (SELECT 'name', 'x' UNION ALL "
                              "SELECT key, value FROM c) SELECT key, value FROM c"),
                 "contains a view 'run'"},
        BadStore{"Trigger", with("CREATE TRIGGER t AFTER INSERT ON session BEGIN DELETE FROM trial; END"), "contains a trigger 't'"},
        BadStore{"Index", with("CREATE INDEX i ON trial (abs(number))"), "contains an index 'i'"},
        BadStore{"Table", with("CREATE TABLE extra (a)"), "contains a table 'extra'"},
        BadStore{"Virtual", with("CREATE VIRTUAL TABLE v USING fts5 (a)"), "contains a table 'v"},
        BadStore{"Generated", with("ALTER TABLE session ADD COLUMN g INTEGER AS (abs(number))"), "in the definition of 'session'"},
        BadStore{"Pipe", [](const std::string& path) { ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); },
                 "not a regular file"},
        BadStore{"Link", [](const std::string& path) { std::filesystem::create_symlink("/etc/passwd", path); },
                 "not a regular file"}),
    [](const testing::TestParamInfo<BadStore>& info) { return info.param.name; });

// Whatever is overwritten in the file: it is refused or read, without a crash and without a change of the file.
TEST(Results, SurviveDamageToAnyPage) {
  const Folder folder;
  const std::vector<Trial> trials = {make_trial(1, "alone", 1, 1), make_trial(2, "together", 2, 1),
                                     make_trial(3, "apart", 2, 1)};
  {
    ResultsStore results(folder.path("good"));
    results.begin(RunMaker().run.info, trials);
    for (const Trial& trial : trials) {
      Result result = make_result(1000, 8, 0.985);
      result.log.assign(200, "a line of a log that fills the pages of the file");
      results.add(trial, result);
    }
  }
  std::ifstream file(folder.path("good/results.sqlite"), std::ios::binary);
  const std::string good(std::istreambuf_iterator<char>(file), {});
  ASSERT_GT(good.size(), 10u * 4096);
  std::filesystem::create_directory(folder.path("bad"));
  int refused = 0;
  const auto attempt = [&](const std::string& bytes) {
    std::ofstream(folder.path("bad/results.sqlite"), std::ios::binary | std::ios::trunc) << bytes;
    try {
      EXPECT_LE(read_run(folder.path("bad")).rows.size(), 3u);
    } catch (const BadResults&) {
      ++refused;
    }
    std::ifstream after(folder.path("bad/results.sqlite"), std::ios::binary);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(after), {}), bytes);
  };
  int tries = 0;
  for (std::size_t page = 0; page * 4096 < good.size(); ++page) {
    for (const char filler : {'\0', '\x55', '\xff'}) {
      std::string bytes = good;
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(page * 4096), 4096, filler);
      attempt(bytes);
      ++tries;
    }
    std::string flipped = good;
    for (std::size_t i = page * 4096; i < (page + 1) * 4096; ++i) flipped[i] = static_cast<char>(~flipped[i]);
    attempt(flipped);
    attempt(good.substr(0, page * 4096 + 2048));
    tries += 2;
  }
  EXPECT_GT(refused, tries / 2);
}

TEST(ReadRun, SaysWhatIsNotThere) {
  const Folder folder;
  const auto says = [&](const std::string& path, const char* words) {
    EXPECT_THAT([&] { read_run(path); }, ThrowsMessage<BadResults>(AllOf(HasSubstr(path), HasSubstr(words))));
  };
  says(folder.path(), "there is no run in this directory (no results.sqlite)");
  says(folder.path("absent"), "there is no such directory");
  std::ofstream(folder.path("file")) << "x";
  says(folder.path("file"), "is not a directory: name the directory that contains results.sqlite");
}

TEST(ReadRun, NamesTheTrialThatCannotBeRead) {
  const Folder folder;
  { ResultsStore(folder.path()).begin({}, {make_trial(7, "alone", 1, 1)}); }
  {
    const Database database(folder.path(kResultsFile), Database::Mode::write);
    database.script("UPDATE trial SET state = 'finished', result_json = '{' WHERE number = 7");
    seal_trial(database, 7);
  }
  EXPECT_THAT([&] { read_run(folder.path()); },
              ThrowsMessage<BadResults>(AllOf(HasSubstr("damaged (trial 7: parse error"), testing::Not(HasSubstr("json.exception")))));
}

}  // namespace
}  // namespace mgcompare
