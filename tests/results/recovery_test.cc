// Runs that a fault or a kill left incomplete: SQLite needs their journal or log to read them. And hostile journals.

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <random>

#include "results/results_store.h"
#include "results/runs.h"
#include "results/sqlite.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

std::vector<Trial> plan() { return {make_trial(1, "alone", 1, 1), make_trial(2, "together", 2, 1), make_trial(3, "apart", 2, 1)}; }

std::string bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class Recovery : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }
  std::string journal() const { return path("run/results.sqlite-journal"); }

  // Two trials of three have finished.
  void make_run(const std::string& name) const {
    ResultsStore results(path(name));
    results.begin(RunMaker().run.info, plan());
    for (int i = 0; i < 2; ++i) results.add(plan()[static_cast<std::size_t>(i)], make_result(1000, 8, 0.985));
  }
  // A copy as a power failure leaves it: some pages of a transaction are in the file, their old content is in the journal.
  void make_hot_journal() const {
    make_run("live");
    const Database writer(path("live/results.sqlite"), Database::Mode::write);
    writer.script("PRAGMA cache_size = 2; BEGIN; UPDATE trial SET result_json = 'x' || result_json || hex(zeroblob(5000)); "
                  "UPDATE trial SET accuracy = 0");
    copy_run({"", "-journal"});
    ASSERT_GT(fs::file_size(journal()), 512u);
    ASSERT_NE(bytes_of(path("run/results.sqlite")), bytes_of(path("good/results.sqlite"))) << "nothing is in the file yet";
  }
  void copy_run(const std::vector<std::string>& suffixes) const {
    fs::create_directory(path("run"));
    for (const std::string& suffix : suffixes) fs::copy_file(path("live/results.sqlite" + suffix), path("run/results.sqlite" + suffix));
  }
  std::map<std::string, std::string> content() const {
    std::map<std::string, std::string> all;
    for (const fs::directory_entry& entry : fs::directory_iterator(path("run"))) all[entry.path().filename()] = bytes_of(entry.path());
    return all;
  }
  void expect_whole() const {
    const mgcompare::Run run = read_run(path("run"));
    ASSERT_EQ(run.rows.size(), 3u);
    for (int i = 0; i < 3; ++i) {
      const Row& row = run.rows[static_cast<std::size_t>(i)];
      EXPECT_EQ(row.state, i < 2 ? RowState::finished : RowState::pending);
      EXPECT_EQ(row.result.status, TrialStatus::done) << row.result.cause;
    }
    EXPECT_TRUE(run.info.taints.empty());
  }
  // Calls `work` as a user to whom nothing in the folder `run` is writable. Returns what it throws.
  std::string error_of_others(const std::function<void()>& work) const {
    int ends[2];
    if (pipe(ends) != 0) return "no pipe";
    const pid_t child = fork();
    if (child == 0) {
      constexpr uid_t kNobody = 65534;
      if (geteuid() == 0 && setuid(kNobody) != 0) _exit(1);
      std::string text;
      try {
        work();
      } catch (const std::exception& error) {
        text = error.what();
      }
      _exit(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
    }
    close(ends[1]);
    std::string text(4096, '\0');
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(read(ends[0], text.data(), text.size()), 0)));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0 ? text : "it failed";
  }
  void make_read_only() const { fs::permissions(path("run"), static_cast<fs::perms>(0555)); }
  void TearDown() override {
    if (fs::exists(path("run"))) fs::permissions(path("run"), fs::perms::owner_all);
  }

  void SetUp() override { make_run("good"); }

 private:
  const Folder folder_;
};

TEST_F(Recovery, AHotJournalIsAppliedWithoutAChangeOfTheFolder) {
  make_hot_journal();
  const auto before = content();
  expect_whole();
  EXPECT_EQ(content(), before);
  ResultsStore results(path("run"));
  EXPECT_TRUE(results.resume(RunMaker().run.info, plan()).empty());
  EXPECT_EQ(results.unfinished(), std::vector<int>{3});
  EXPECT_FALSE(fs::exists(journal()));
}

TEST_F(Recovery, AReadOnlyFolderIsEnoughForReading) {
  make_hot_journal();
  make_read_only();
  EXPECT_EQ(error_of_others([&] { expect_whole(); }), "");
}

// A log without the index that SQLite makes for it, and a file that says that it has a log.
TEST_F(Recovery, ALogInAReadOnlyFolderIsRead) {
  ResultsStore live(path("live"));
  live.begin(RunMaker().run.info, plan());
  for (int i = 0; i < 2; ++i) live.add(plan()[static_cast<std::size_t>(i)], make_result(1000, 8, 0.985));
  copy_run({"", "-wal"});
  make_read_only();
  EXPECT_EQ(error_of_others([&] { expect_whole(); }), "");
  fs::permissions(path("run"), fs::perms::owner_all);
  fs::remove(path("run/results.sqlite-wal"));
  make_read_only();
  EXPECT_EQ(error_of_others([&] { read_run(path("run")); }), "");
}

// As a backup of the file restored beside the log of a later run.
TEST_F(Recovery, TheLogOfAnotherRunIsRefused) {
  ResultsStore live(path("live"));
  live.begin(RunMaker().run.info, plan());
  for (int i = 0; i < 3; ++i) live.add(plan()[static_cast<std::size_t>(i)], make_result(9000, 8, 0.5));
  fs::create_directory(path("run"));
  fs::copy_file(path("good/results.sqlite"), path("run/results.sqlite"));
  fs::copy_file(path("live/results.sqlite-wal"), path("run/results.sqlite-wal"));
  const auto before = content();
  const auto refused = ThrowsMessage<BadResults>(AllOf(HasSubstr("results.sqlite-wal, is that of another run"), HasSubstr("the file is not changed")));
  EXPECT_THAT([&] { read_run(path("run")); }, refused);
  EXPECT_THAT([&] { ResultsStore results(path("run")); }, refused);
  EXPECT_EQ(bytes_of(path("run/results.sqlite")), before.at("results.sqlite"));
  fs::remove(path("run/results.sqlite-wal"));
  fs::remove(path("run/results.sqlite-shm"));
  expect_whole();
}

TEST_F(Recovery, AFileWithoutTheSessionThatWroteLastIsRefusedWithoutALogToo) {
  make_run("run");
  Database(path("run/results.sqlite"), Database::Mode::write).script("DELETE FROM session");
  ASSERT_FALSE(fs::exists(path("run/results.sqlite-wal")));
  EXPECT_THAT([&] { read_run(path("run")); }, ThrowsMessage<BadResults>(HasSubstr("does not have the session that wrote last, so another program has changed it")));
}

TEST_F(Recovery, NeedsATemporaryFolderThatCanBeWritten) {
  make_hot_journal();
  make_read_only();
  EXPECT_THAT(error_of_others([&] {
                setenv("TMPDIR", path("run").c_str(), 1);
                read_run(path("run"));
              }),
              AllOf(HasSubstr("no temporary folder can be made"), HasSubstr("set TMPDIR to a folder with space")));
}

TEST_F(Recovery, AFileThatAnotherProgramChangedIsNotSaidToHoldTheRun) {
  for (const bool changed : {false, true}) {
    const std::string name = changed ? "changed" : "kept";
    ResultsStore results(path(name));
    results.begin(RunMaker().run.info, plan());
    for (const Trial& trial : plan()) results.add(trial, make_result(1000, 8, 0.985));
    const mgcompare::Run run = results.read();
    if (changed) fs::resize_file(path(name + "/results.sqlite-wal"), 0);
    if (changed) EXPECT_THAT([&] { results.close(run); }, ThrowsMessage<NotWritable>(HasSubstr("was changed by another program")));
    else EXPECT_NO_THROW(results.close(run));
  }
}

TEST_F(Recovery, EndsOnASignal) {
  make_hot_journal();
  interrupt_reading_if([] { return true; });
  EXPECT_THROW(read_run(path("run")), ReadingStopped);
  interrupt_reading_if([] { return false; });
}

TEST_F(Recovery, ReadErrorsAreNotSaidToBeOfWriting) {
  make_run("run");
  fs::permissions(path("run/results.sqlite"), fs::perms::none);
  EXPECT_THAT(error_of_others([&] { read_run(path("run")); }),
              AllOf(HasSubstr("run/results.sqlite: cannot be read: Permission denied"), HasSubstr("check the"), Not(HasSubstr("writ"))));
  fs::permissions(path("run"), fs::perms::none);
  EXPECT_THAT(error_of_others([&] { read_run(path("run")); }),
              AllOf(HasSubstr("run/results.sqlite: cannot be read: Permission denied"), HasSubstr("check the"), Not(HasSubstr("writ"))));
}

// What a journal may contain that comes from somebody else. SQLite would obey it.
class HostileJournal : public Recovery {
 protected:
  void expect_refused(const std::string& why) const {
    const auto refuses = ThrowsMessage<BadResults>(AllOf(HasSubstr("run/results.sqlite-journal: "), HasSubstr(why)));
    const std::string before = bytes_of(path("run/results.sqlite"));
    EXPECT_THAT([&] { read_run(path("run")); }, refuses);
    EXPECT_THAT([&] { ResultsStore results(path("run")); }, refuses);
    EXPECT_EQ(bytes_of(path("run/results.sqlite")), before);
  }
};

// SQLite deletes the journal that another one names after a transaction over several databases.
TEST_F(HostileJournal, DoesNotDeleteTheFileThatItNames) {
  make_hot_journal();
  const std::string precious = path("precious");
  std::ofstream(precious) << "precious";
  const auto number = [](std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
    return bytes;
  };
  std::uint32_t sum = 0;
  for (const char c : precious) sum += static_cast<std::uint32_t>(static_cast<signed char>(c));
  std::ofstream(journal(), std::ios::app | std::ios::binary)
      << number(0x40000000 / 4096 + 1) << precious << number(static_cast<std::uint32_t>(precious.size())) << number(sum)
      << "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
  expect_refused("names the journal of another database");
  EXPECT_EQ(bytes_of(precious), "precious");
}

TEST_F(HostileJournal, IsNoLinkAndNoPipe) {
  make_run("run");
  std::ofstream(path("precious")) << "precious";
  fs::create_symlink(path("precious"), journal());
  expect_refused("not a regular file");
  EXPECT_EQ(bytes_of(path("precious")), "precious");
  fs::remove(journal());
  ASSERT_EQ(mkfifo(journal().c_str(), 0600), 0);
  expect_refused("not a regular file");
}

TEST_F(HostileJournal, IsNotGigantic) {
  make_hot_journal();
  fs::resize_file(journal(), std::uintmax_t{1} << 40);
  EXPECT_THAT([&] { read_run(path("run")); }, ThrowsMessage<BadResults>(HasSubstr("is too large to be repaired")));
  EXPECT_THAT([&] { ResultsStore results(path("run")); }, ThrowsMessage<BadResults>(HasSubstr("larger than 1024 MB")));
}

TEST_F(HostileJournal, DoesNotHideASchemaThatIsRefused) {
  make_run("live");
  const Database writer(path("live/results.sqlite"), Database::Mode::write);
  writer.script("DROP TABLE environment; CREATE VIEW environment AS SELECT 1 AS position, key, value FROM run; PRAGMA cache_size = 2;"
                "BEGIN; UPDATE trial SET result_json = 'x' || result_json || hex(zeroblob(5000));");
  copy_run({"", "-journal"});
  for (const bool resumes : {false, true}) {
    EXPECT_THAT([&] { resumes ? (void)ResultsStore(path("run")) : (void)read_run(path("run")); },
                ThrowsMessage<BadResults>(HasSubstr("contains a view 'environment'")));
  }
}

// Whatever a journal or a log contains: the run is read or refused, and its folder stays as it is.
using LongHostileJournal = HostileJournal;
TEST_F(LongHostileJournal, MayContainAnything) {
  std::mt19937 random(1);
  const auto any = [&](std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random); };
  int read = 0;
  for (const char* suffix : {"-journal", "-wal"}) {
    fs::remove_all(path("live"));
    fs::remove_all(path("run"));
    if (std::string(suffix) == "-journal") {
      make_hot_journal();
    } else {
      ResultsStore live(path("live"));
      live.begin(RunMaker().run.info, plan());
      live.add(plan()[0], make_result(1000, 8, 0.985));
      copy_run({"", suffix});
    }
    const std::string good = bytes_of(path("run/results.sqlite") + suffix);
    for (int i = 0; i < 1000; ++i) {
      std::string bytes = good;
      for (std::size_t changes = 1 + any(4); changes > 0; --changes) bytes[any(i % 2 == 0 ? 64 : bytes.size())] = static_cast<char>(any(256));
      if (i % 10 == 0) bytes.resize(any(bytes.size()));
      std::ofstream(path("run/results.sqlite") + suffix, std::ios::binary | std::ios::trunc) << bytes;
      const auto before = content();
      try {
        read += read_run(path("run")).rows.size() == 3 ? 1 : 0;
      } catch (const Error&) {
        // Refusing is fine too.
      }
      fs::remove(path("run/results.sqlite-shm"));
      EXPECT_EQ(content(), before);
    }
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace mgcompare
