// Files of samples that somebody writes to while trials read them.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "data/mapped_file.h"
#include "discovery/plugin_checksum.h"
#include "fixture.h"
#include "strategy_plugins.h"
#include "tests/data/files.h"
#include "tests/data/npy_files.h"
#include "train/session.h"

namespace mgcompare::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// A file system's clock may have ticks of several milliseconds.
void wait_for_tick() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void overwrite(const std::string& path, float value) {
  wait_for_tick();
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(4096);
  file.write(reinterpret_cast<const char*>(&value), sizeof value);
}

class ChangedData : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const auto& [ending, samples] : {std::pair<std::string, std::size_t>{"", 400}, {"_test", 50}}) {
      std::vector<float> x(samples * 28 * 28);
      std::vector<std::int32_t> y(samples);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 31) / 31;
      for (std::size_t i = 0; i < samples; ++i) y[i] = static_cast<std::int32_t>(i % 10);
      folder_.write("x" + ending + ".npy", npy("<f4", {samples, 1, 28, 28}, x));
      folder_.write("y" + ending + ".npy", npy("<i4", {samples}, y));
    }
    trial_ = small_trial(2, "replicated");
    trial_.config.data.set = DataSource::npy;
    trial_.config.data.path = folder_.path();
  }

  // Runs the trial; calls `meddle` once, between two steps.
  Result run(Session& session, const std::function<void()>& meddle = {}) const {
    LivePosition position;
    bool is_done = false;
    const auto stop = [&] {
      if (meddle && !std::exchange(is_done, true)) meddle();
      return false;
    };
    Result result = session.run(trial_, {}, [](const Progress&) {}, position, stop, [](const Result&) {});
    EXPECT_TRUE(!meddle || is_done);
    return result;
  }

  const Folder folder_;
  Trial trial_;
};

TEST_F(ChangedData, TheTrialThatReadThemFails) {
  Session session;
  trial_.data_fingerprint = session.data(trial_.config.data, DataPlaces::standard(""), {}).fingerprint;
  EXPECT_EQ(run(session).cause, "");
  const std::string path = folder_.path("x.npy");
  EXPECT_THAT(run(session, [&] { overwrite(path, 5); }).cause, HasSubstr("x.npy was written to while the trial read its samples"));
  EXPECT_THAT(run(session).cause, HasSubstr("the data changed during the run")) << "a later trial";
  trial_.data_fingerprint = session.data(trial_.config.data, DataPlaces::standard(""), {}).fingerprint;
  EXPECT_THAT(run(session, [&] { overwrite(folder_.path("x_test.npy"), 5); }).cause, HasSubstr("x_test.npy was written to"));
}

TEST_F(ChangedData, OtherAttributesAndAFileInItsPlaceAreNoChange) {
  Session session;
  trial_.data_fingerprint = session.data(trial_.config.data, DataPlaces::standard(""), {}).fingerprint;
  const std::string path = folder_.path("x.npy");
  EXPECT_EQ(run(session, [&] { wait_for_tick(), chmod(path.c_str(), 0600); }).cause, "");
  EXPECT_EQ(run(session, [&] { wait_for_tick(), std::filesystem::remove(path); }).cause, "") << "the samples stay mapped";
}

TEST_F(ChangedData, TimesThatAreSetBackHideNothing) {
  Session session;
  trial_.data_fingerprint = session.data(trial_.config.data, DataPlaces::standard(""), {}).fingerprint;
  const std::string path = folder_.path("x.npy");
  const auto meddle = [&] {
    const auto before = std::filesystem::last_write_time(path);
    overwrite(path, 5);
    std::filesystem::last_write_time(path, before);
  };
  EXPECT_THAT(run(session, meddle).cause, HasSubstr("was written to"));
}

TEST_F(ChangedData, BytesThatArePutBackAreNoted) {
  Session session;
  trial_.data_fingerprint = session.data(trial_.config.data, DataPlaces::standard(""), {}).fingerprint;
  EXPECT_THAT(run(session).notes, Not(Contains(HasSubstr("x.npy"))));
  const std::string path = folder_.path("x.npy");
  const auto meddle = [&] {
    const auto before = std::filesystem::last_write_time(path);
    const std::string bytes = text_of(path);
    overwrite(path, 5);
    std::fstream(path, std::ios::binary | std::ios::in | std::ios::out) << bytes;
    std::filesystem::last_write_time(path, before);
  };
  const Result result = run(session, meddle);
  EXPECT_EQ(result.cause, "");
  EXPECT_THAT(result.notes, Contains(AllOf(HasSubstr("attributes or times of"), HasSubstr("x.npy changed during the trial"))));
}

// The code of a plugin is mapped, as samples are.
TEST_F(ChangedData, APluginThatIsWrittenToFailsItsTrial) {
  const std::string plugin = folder_.path("strategy_replicated.so");
  std::filesystem::copy_file(trial_.plugin_file, plugin);
  trial_.plugin_file = plugin;
  trial_.plugin_sha256 = checksum_of_plugin(plugin);
  Session session;
  trial_.data_fingerprint = session.data(trial_.config.data, DataPlaces::standard(""), {}).fingerprint;
  const auto replace = [&] {
    const std::string other = folder_.path("other.so");
    std::filesystem::copy_file(plugin, other);
    std::ofstream(other, std::ios::app) << "more";
    std::filesystem::rename(other, plugin);
  };
  const auto append = [&] { std::ofstream(plugin, std::ios::app) << "more"; };
  EXPECT_THAT(run(session, append).cause, HasSubstr("strategy_replicated.so was written to while the trial ran its code"));
  trial_.plugin_sha256 = checksum_of_plugin(plugin);
  EXPECT_EQ(run(session, replace).cause, "") << "the trial ran the code of the file before";
}

// The trial reads the file under whatever name, and is told from one that only lost its name.
TEST_F(ChangedData, AFileThatWasRenamedOrRemovedIsWatchedToo) {
  const std::string path = folder_.path("x.npy"), moved = folder_.path("moved.npy");
  const auto fingerprint = [&](Session& session) { return session.data(trial_.config.data, DataPlaces::standard(""), {}).fingerprint; };
  for (const bool is_removed : {false, true}) {
    Session session;
    trial_.data_fingerprint = fingerprint(session);
    const auto meddle = [&] {
      std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
      std::filesystem::copy_file(path, folder_.path("copy.npy"), std::filesystem::copy_options::overwrite_existing);
      if (is_removed) std::filesystem::remove(path);
      else std::filesystem::rename(path, moved);
      std::filesystem::rename(folder_.path("copy.npy"), path);
      wait_for_tick();
      file.seekp(4096);
      file << "other samples";
    };
    EXPECT_THAT(run(session, meddle).cause, HasSubstr("x.npy was written to while")) << is_removed;
    EXPECT_EQ(fingerprint(session), trial_.data_fingerprint) << "the file of that name is read again";
  }
}

// Its page was changed before the trial began: the kernel notes no new time.
TEST_F(ChangedData, AWriterWithAMappingOfItsOwnIsNoticed) {
  const int file = open(folder_.path("x.npy").c_str(), O_RDWR);
  auto* const bytes = static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  close(file);
  ASSERT_NE(bytes, MAP_FAILED);
  bytes[4096] ^= 1;
  wait_for_tick();
  Session session;
  trial_.data_fingerprint = session.data(trial_.config.data, DataPlaces::standard(""), {}).fingerprint;
  EXPECT_THAT(run(session, [&] { bytes[4097] ^= 1; }).cause, HasSubstr("was written to while the trial read its samples"));
  munmap(bytes, 8192);
}

TEST_F(ChangedData, TellsContentsFromAttributes) {
  const std::string path = folder_.path("y.npy");
  const MappedFile file = map_file(path).file;
  EXPECT_EQ(change_of(file), FileChange::none);
  wait_for_tick();
  chmod(path.c_str(), 0600);
  EXPECT_EQ(change_of(file), FileChange::attributes);
  const float value = 1;
  std::ofstream(path, std::ios::app) << value;
  EXPECT_EQ(change_of(file), FileChange::contents);
  std::filesystem::rename(folder_.path("x.npy"), path);
  EXPECT_EQ(change_of(file), FileChange::contents) << "another file has its name";
}

}  // namespace
}  // namespace mgcompare::testing
