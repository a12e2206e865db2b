// Checkpoint files: nothing but an undamaged file of the same training is resumed from.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/sha256.h"
#include "fixture.h"
#include "runtime/checkpoint.h"
#include "train/training_identity.h"

namespace mgcompare {
namespace {

using testing::run;
using testing::small_trial;

namespace fs = std::filesystem;

// A file name that no other test process uses. The file is removed at the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name)
      : path_((fs::temp_directory_path() / ("mgcompare-" + name + "-" + std::to_string(::getpid()))).string()) {
    fs::remove(path_);
  }
  ~TemporaryFile() { fs::remove(path_); }
  const std::string& path() const { return path_; }

  std::string read() const {
    std::ifstream stream(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes; }

 private:
  std::string path_;
};

constexpr std::uint64_t kMost = 1 << 20;

Checkpoint sample() {
  Checkpoint checkpoint;
  checkpoint.identity = "of a test";
  checkpoint.progress = {{"epochs", 3}, {"list", {1.5, "two"}}};
  checkpoint.ranks = {{{"a", {1, 2, 3}}, {"empty", {}}}, {{"b", std::vector<std::uint8_t>(1000, 7)}}};
  return checkpoint;
}

void write_sample(const TemporaryFile& file) { ASSERT_TRUE(write_checkpoint(file.path(), sample(), kMost)); }

// Why the file is not a checkpoint; empty if it is one.
std::string problem_of(const TemporaryFile& file, std::uint64_t most_bytes = kMost) {
  try {
    read_checkpoint(file.path(), most_bytes);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// Sets a random bit, byte or range, or moves bytes. Returns a text that differs from `bytes`.
std::string damaged(const std::string& bytes, std::mt19937& random) {
  std::string copy = bytes;
  const std::size_t at = random() % bytes.size();
  switch (random() % 5) {
    case 0: copy[at] = static_cast<char>(copy[at] ^ (1 << random() % 8)); break;
    case 1: copy[at] = static_cast<char>(copy[at] + 1 + random() % 255); break;
    case 2: copy.resize(at); break;
    case 3: copy.insert(at, 1, static_cast<char>(random())); break;
    default: copy.erase(at, 1 + random() % 16);
  }
  return copy == bytes ? bytes + "x" : copy;
}

void expect_damage_is_found(std::size_t rounds) {
  const TemporaryFile file("flips");
  write_sample(file);
  const std::string good = file.read();
  const auto seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (std::size_t round = 0; round < rounds; ++round) {
    file.write(damaged(good, random));
    ASSERT_NE(problem_of(file), "") << "round " << round;
  }
  file.write(good);
  EXPECT_EQ(problem_of(file), "");
}

constexpr char kFirstLine[] = "mgcompare.checkpoint/4\n";

std::string number(std::uint64_t value) {
  std::string bytes;
  for (unsigned bit = 0; bit < 64; bit += 8) bytes.push_back(static_cast<char>(value >> bit & 0xff));
  return bytes;
}

// A file whose header is right.
std::string with_header(const std::string& contents) {
  Sha256 hash;
  hash.add(contents.data(), contents.size());
  const auto digest = hash.digest_bytes();
  return kFirstLine + number(contents.size()) + std::string(digest.begin(), digest.end()) + contents;
}

TEST(Checkpoints, KeepEveryByte) {
  const TemporaryFile file("kept");
  write_sample(file);
  const Checkpoint read = read_checkpoint(file.path(), kMost);
  EXPECT_EQ(read.identity, sample().identity);
  EXPECT_EQ(read.progress, sample().progress);
  EXPECT_EQ(read.ranks, sample().ranks);
}

TEST(Checkpoints, EveryTruncationIsFound) {
  const TemporaryFile file("cut");
  write_sample(file);
  const std::string good = file.read();
  for (std::size_t length = 0; length < good.size(); ++length) {
    file.write(good.substr(0, length));
    ASSERT_NE(problem_of(file), "") << length << " bytes";
  }
  file.write(good + '\0');
  EXPECT_NE(problem_of(file), "");
}

TEST(Checkpoints, EveryDamageIsFound) { expect_damage_is_found(200); }
TEST(LongCheckpoints, EveryDamageIsFound) { expect_damage_is_found(10000); }

TEST(Checkpoints, FilesOfOtherKindsAreNamed) {
  const TemporaryFile file("kinds");
  for (const char* older : {"mgcompare.checkpoint/2 and so on", "mgcompare.checkpoint/3\n"}) {
    file.write(older);
    EXPECT_EQ(problem_of(file), "it was written by another version of the program");
  }
  file.write(std::string(kFirstLine) + "too short");
  EXPECT_EQ(problem_of(file), "it is damaged: it ends within its header");
  file.write(std::string(1 << 20, 'x'));
  EXPECT_EQ(problem_of(file), "it is not a checkpoint of this version");
  fs::remove(file.path());
  EXPECT_NE(problem_of(file).find("No such file"), std::string::npos);
  fs::create_directory(file.path());
  EXPECT_EQ(problem_of(file), "it is not a file");
  fs::remove(file.path());
  ASSERT_EQ(mkfifo(file.path().c_str(), 0600), 0);
  EXPECT_EQ(problem_of(file), "it is not a file") << "or the test hangs";
}

// A sparse file of 64 GiB, which no machine of a test could hold in memory.
TEST(Checkpoints, AFileOfAnotherSizeIsRefusedBeforeItIsRead) {
  constexpr std::uint64_t kSize = std::uint64_t{64} << 30, kHeader = 63;
  const TemporaryFile file("huge");
  write_sample(file);
  const std::uint64_t size = fs::file_size(file.path()) - kHeader;
  fs::resize_file(file.path(), kSize);
  EXPECT_EQ(problem_of(file), "it is damaged: " + std::to_string(kSize - kHeader) + " bytes follow its header, which says " +
                                  std::to_string(size));
  // The header agrees, but no training has so much.
  file.write(kFirstLine + number(kSize - kHeader));
  fs::resize_file(file.path(), kSize);
  EXPECT_EQ(problem_of(file), "it is too large: " + std::to_string(kSize - kHeader) +
                                  " bytes follow its header, and this training has at most " + std::to_string(kMost));
}

TEST(Checkpoints, OneThatWouldBeRefusedForItsSizeIsNotWritten) {
  const TemporaryFile file("limit");
  write_sample(file);
  const std::string before = file.read();
  Checkpoint larger = sample();
  larger.ranks[0]["a"].resize(kMost);
  EXPECT_FALSE(write_checkpoint(file.path(), larger, kMost));
  EXPECT_EQ(file.read(), before);
  EXPECT_NE(problem_of(file, 100).find("it is too large"), std::string::npos);
}

// The checksum is no secret. Lengths are compared with what is left of the file before anything is allocated.
TEST(Checkpoints, ClaimedLengthsAreNotBelieved) {
  const TemporaryFile file("lengths");
  const std::string huge(8, '\x7f'), zero(8, '\0'), empty_object = std::string("\2\0\0\0\0\0\0\0", 8) + "{}";
  for (const std::string& contents : {huge, zero + huge, zero + empty_object + huge, zero + empty_object + std::string("\1", 1) + zero.substr(1) + huge}) {
    file.write(with_header(contents));
    EXPECT_NE(problem_of(file).find("a length in it is beyond its end"), std::string::npos) << problem_of(file);
  }
  file.write(with_header(zero + zero));
  EXPECT_NE(problem_of(file).find("it is damaged"), std::string::npos) << "no JSON";
  file.write(with_header(zero + empty_object + zero + "x"));
  EXPECT_NE(problem_of(file).find("something follows its end"), std::string::npos);
}

Trial checkpointed(const std::string& plugin = "replicated") {
  Trial trial = small_trial(2, plugin);
  trial.config.checkpoint_epochs = 1;
  return trial;
}

// Leaves the checkpoint of the first epoch.
void interrupt_after_first_epoch(const Trial& trial, const TemporaryFile& file) {
  EXPECT_THROW(run(trial, {}, [&](TrainingRequest& request) {
    request.files = {file.path(), false};
    request.stop = [&] { return fs::exists(file.path()); };
  }), Interrupted);
  ASSERT_TRUE(fs::exists(file.path()));
}

Result resumed(const Trial& trial, const TemporaryFile& file) {
  return run(trial, {}, [&](TrainingRequest& request) { request.files = {file.path(), true}; }).result;
}

TEST(Checkpoints, AResumedTrialHasNoNote) {
  const TemporaryFile file("own");
  interrupt_after_first_epoch(checkpointed(), file);
  const Result result = resumed(checkpointed(), file), whole = run(checkpointed()).result;
  EXPECT_EQ(result.notes, whole.notes);
  EXPECT_EQ(result.weights_hash, whole.weights_hash);
}

TEST(Checkpoints, OneOfAnotherTrainingIsNotUsed) {
  const std::vector<std::pair<const char*, std::function<void(Trial&)>>> differences = {
      {"learning rate", [](Trial& trial) { trial.config.optimizer.learning_rate *= 0.5; }},
      {"seed", [](Trial& trial) { trial.seed = 17; }},
      {"epochs", [](Trial& trial) { trial.config.epochs = 3; }},
      {"strategy", [](Trial& trial) { trial = checkpointed("tower"); }},
      {"option", [](Trial& trial) { trial.strategy.options = {{"deferred", "true", false, {}}}; }},
      {"ranks", [](Trial& trial) { trial.ranks_per_device = 3; }},
      {"layers", [](Trial& trial) { trial.config.model.layers[1].type = LayerType::relu; }},
  };
  for (const auto& [what, change] : differences) {
    SCOPED_TRACE(what);
    const TemporaryFile file("foreign");
    interrupt_after_first_epoch(checkpointed(), file);
    Trial other = checkpointed();
    change(other);
    const Result result = resumed(other, file), fresh = run(other).result;
    EXPECT_EQ(result.weights_hash, fresh.weights_hash);
    EXPECT_EQ(result.epochs.size(), fresh.epochs.size());
    ASSERT_EQ(result.notes.size(), fresh.notes.size() + 1);
    EXPECT_EQ(result.notes.front(), "trained again from the start: the checkpoint " + file.path() +
                                        " was not used, because it belongs to another run, or to a training with other settings, data or plugin");
  }
}

// Its times are those of the run that wrote it.
TEST(Checkpoints, OneOfAnotherRunIsNotUsed) {
  const TemporaryFile file("run");
  interrupt_after_first_epoch(checkpointed(), file);
  const auto resumed_in = [&](const std::string& identity) {
    return run(checkpointed(), {}, [&](TrainingRequest& request) {
             request.files = {file.path(), true};
             request.files.run = identity;
           }).result;
  };
  const Result other = resumed_in("another run");
  ASSERT_FALSE(other.notes.empty());
  EXPECT_NE(other.notes.front().find("it belongs to another run"), std::string::npos) << other.notes.front();
  fs::remove(file.path());
  interrupt_after_first_epoch(checkpointed(), file);
  for (const std::string& note : resumed_in("").notes) EXPECT_EQ(note.find("was not used"), std::string::npos) << note;
}

TEST(Checkpoints, ADamagedOneIsNotUsed) {
  const TemporaryFile file("broken");
  interrupt_after_first_epoch(checkpointed(), file);
  std::string bytes = file.read();
  bytes[bytes.size() / 2] ^= 1;
  file.write(bytes);
  const Result result = resumed(checkpointed(), file), fresh = run(checkpointed()).result;
  EXPECT_EQ(result.weights_hash, fresh.weights_hash);
  ASSERT_EQ(result.notes.size(), fresh.notes.size() + 1);
  EXPECT_NE(result.notes.front().find("its checksum is wrong"), std::string::npos) << result.notes.front();
}

// As if somebody had written it: its checksum is right.
TEST(Checkpoints, OneThatSaysThatMoreIsDoneIsNotUsed) {
  for (const std::size_t epochs : {0u, 2u, 100u}) {
    const TemporaryFile file("epochs");
    interrupt_after_first_epoch(checkpointed(), file);
    Checkpoint checkpoint = read_checkpoint(file.path(), 1 << 26);
    ASSERT_EQ(checkpoint.progress.at("epochs"), 1);
    checkpoint.progress["epochs"] = epochs;
    ASSERT_TRUE(write_checkpoint(file.path(), checkpoint, 1 << 26));
    const Result result = resumed(checkpointed(), file), fresh = run(checkpointed()).result;
    EXPECT_EQ(result.weights_hash, fresh.weights_hash);
    EXPECT_EQ(result.epochs.size(), fresh.epochs.size());
    ASSERT_EQ(result.notes.size(), fresh.notes.size() + 1);
    EXPECT_NE(result.notes.front().find("was not used, because it says that " + std::to_string(epochs) + " of 2 epochs are done"), std::string::npos)
        << result.notes.front();
  }
}

TEST(Checkpoints, OneOfManyGigabytesIsNotUsed) {
  const TemporaryFile file("gigabytes");
  interrupt_after_first_epoch(checkpointed(), file);
  fs::resize_file(file.path(), std::uint64_t{64} << 30);
  const Result result = resumed(checkpointed(), file), fresh = run(checkpointed()).result;
  EXPECT_EQ(result.weights_hash, fresh.weights_hash);
  ASSERT_EQ(result.notes.size(), fresh.notes.size() + 1);
  EXPECT_EQ(result.notes.front().find("trained again from the start: the checkpoint " + file.path() + " was not used, because it is damaged"), 0u)
      << result.notes.front();
}

// Exact on one rank. Saves as much as it is told.
class Hoarder : public Strategy {
 public:
  explicit Hoarder(std::size_t bytes) : kept_(bytes) {}
  Traits traits() const override { return {}; }
  void step(Replica& replica, Group&, const Batch& batch) override {
    replica.backward(batch);
    replica.update();
  }
  void save(Archive& archive) override { archive.put_host("kept", Span<const char>(kept_.data(), kept_.size())); }

 private:
  std::vector<char> kept_;
};

TEST(Checkpoints, AStrategyThatSavesTooMuchTrainsWithoutThem) {
  const TemporaryFile file("hoard");
  const auto trained = [&](std::size_t bytes) {
    Trial trial = small_trial(1);
    trial.config.checkpoint_epochs = 1;
    return run(trial, [bytes](Options&, const Facts&) { return std::make_unique<Hoarder>(bytes); },
               [&](TrainingRequest& request) { request.files = {file.path(), false}; }).result;
  };
  trained(16 << 20);
  EXPECT_TRUE(fs::exists(file.path()));
  fs::remove(file.path());
  const Result result = trained(64 << 20);
  EXPECT_FALSE(fs::exists(file.path()));
  ASSERT_FALSE(result.notes.empty());
  EXPECT_EQ(result.notes.front().find("no checkpoint was written after epoch 1: it has more than "), 0u) << result.notes.front();
}

TEST(TrainingIdentity, IsOfWhatDeterminesTheWeights) {
  const Trial trial = checkpointed();
  const Dataset data = testing::small_digits();
  const std::string identity = training_identity(trial, data, "run");
  Trial same = trial;
  same.number = 7;
  same.strategy.label = "renamed";
  same.config.name = "renamed";
  same.config.measure.time_limit = 1;
  same.config.seeds = {1, 2, 3};
  same.config.checkpoint_epochs = 2;
  EXPECT_EQ(training_identity(same, data, "run"), identity);
  Dataset other_data = data;
  other_data.fingerprint += "x";
  EXPECT_NE(training_identity(trial, other_data, "run"), identity);
  EXPECT_NE(training_identity(trial, data, "another run"), identity);
  // The same name, another file.
  const TemporaryFile rebuilt("plugin");
  fs::copy_file(trial.plugin_file, rebuilt.path());
  same.plugin_file = rebuilt.path();
  EXPECT_EQ(training_identity(same, data, "run"), identity);
  rebuilt.write(rebuilt.read() + "x");
  EXPECT_NE(training_identity(same, data, "run"), identity);
}

}  // namespace
}  // namespace mgcompare
