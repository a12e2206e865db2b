// The commands that read existing runs.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include <nlohmann/json.hpp>

#include "results/sqlite.h"
#include "rig.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

class Analysis : public CommandTest {
 protected:
  // One run for all tests; each test uses its own copy.
  static void SetUpTestSuite() {
    if (!missing_piece().empty()) return;
    original_ = std::make_unique<Workplace>();
    const std::string config = original_->write(
        "fine.yaml", small_config("scaling: {devices: [cpu:1, cpu:2], batch: 64}\nstrategies: [serial, replicated]\n"));
    // Long enough to be measured: see kLeastSeconds.
    made_ = original_->run({config, "--trace", "--set", "epochs=200"});
  }
  static void TearDownTestSuite() { original_.reset(); }

  void SetUp() override {
    CommandTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(made_.code, 0) << made_.err;
    fs::copy(original_->folder() / "runs", place_.folder() / "runs", fs::copy_options::recursive);
    run_ = place_.only_run().directory;
  }
  std::string path(const std::string& name) const { return (fs::path(run_) / name).string(); }

  std::string run_;

 private:
  static inline std::unique_ptr<Workplace> original_;
  static inline Ended made_;
};

TEST_F(Analysis, TracesHaveEveryRankAndTheirExchanges) {
  std::size_t exchanges = 0, ranks = 0;
  for (const auto& file : fs::directory_iterator(path("traces"))) {
    std::ifstream stream(file.path());
    const nlohmann::json json = nlohmann::json::parse(stream);
    for (const nlohmann::json& event : json["traceEvents"]) {
      ranks += event["name"] == "thread_name" ? 1 : 0;
      exchanges += event["name"] == "all_reduce" ? 1 : 0;
      if (event["ph"] == "X") {
        EXPECT_GE(event["dur"].get<double>(), 0);
      }
    }
  }
  EXPECT_EQ(ranks, 1u + 1u + 2u + 1u) << "the last is the control";
  EXPECT_GE(exchanges, 2u);
}

TEST_F(Analysis, ComparesARunWithItselfAndExits0) {
  const Ended ended = place_.run({"compare", run_, run_, "--fail-on-regression", "5%"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("replicated on 2 CPU cores"), std::string::npos) << ended.out;
  EXPECT_TRUE(fs::exists(path("comparison.md")));
}

TEST_F(Analysis, ComparesAsJson) {
  const Ended ended = place_.run({"compare", run_, run_, "--json"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  const nlohmann::json json = nlohmann::json::parse(ended.out);
  EXPECT_EQ(json["before"], run_);
  EXPECT_FALSE(json["rows"].empty());
  EXPECT_TRUE(json["rows"][0].contains("verdict"));
}

TEST_F(Analysis, ComparingNamesTheSettingsThatDiffer) {
  const std::string other = "other";
  fs::copy(run_, place_.folder() / other, fs::copy_options::recursive);
  Database((place_.folder() / other / "results.sqlite").string(), Database::Mode::write)
      .script("UPDATE run SET value = json_set(value, '$.optimizer.learning_rate', 0.25, '$.name', 'other', '$.epochs', 7) WHERE key = 'config_json';"
              "UPDATE run SET value = 'another' WHERE key = 'config_hash'");
  const Ended ended = place_.run({"compare", run_, other});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.err.find("The configs differ in epochs and optimizer.learning_rate\n"), std::string::npos) << ended.err;
}

TEST_F(Analysis, ComparingSaysThatRowsAreDamaged) {
  const std::string copy = "copy";
  fs::copy(run_, place_.folder() / copy, fs::copy_options::recursive);
  EXPECT_NE(place_.run({"compare", run_, copy}).err.find("Both are the same run, so nothing differs"), std::string::npos);
  Database((place_.folder() / copy / "results.sqlite").string(), Database::Mode::write).script("UPDATE trial SET weights_hash = '00' WHERE number = 1");
  const Ended ended = place_.run({"compare", run_, copy});
  EXPECT_NE(ended.err.find("The second run lacks 1 trial whose row is damaged"), std::string::npos) << ended.err;
  EXPECT_EQ(ended.err.find("nothing differs"), std::string::npos) << ended.err;
}

TEST_F(Analysis, PredictsOrSaysWhyNot) {
  const Ended ended = place_.run({"predict", run_, "--devices", "8", "--link", "latency=5us,bandwidth=20GB/s"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("replicated"), std::string::npos) << ended.out;
}

TEST_F(Analysis, PredictsOverTheLinkOfAnExaminedMachine) {
  Ended ended = place_.run({"predict", run_, "--devices", "8", "--link", "measured"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("Link measured: fitted on"), std::string::npos) << ended.out;
  ended = place_.run({"doctor", "--json"});
  const std::string file = place_.write("machine.json", ended.out);
  ended = place_.run({"predict", run_, "--devices", "8", "--link", file});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("devices in " + file), std::string::npos) << ended.out;
  for (const char* text : {"", "[]", "[1]", "{\"a\": 2}", "[{\"links\": {}}]"}) {
    ended = place_.run({"predict", run_, "--link", place_.write("odd.json", text)});
    EXPECT_EQ(ended.code, 2) << text;
    EXPECT_NE(ended.err.find("odd.json"), std::string::npos) << ended.err;
  }
  EXPECT_EQ(place_.run({"predict", run_, "--link", "nowhere.json"}).code, 2);
  ended = place_.run({"predict", run_, "--link", "nvlink4"});
  EXPECT_NE(ended.out.find("an assumption"), std::string::npos) << ended.out;
}

TEST_F(Analysis, OneDevicePredictsSeveralByRehearsals) {
  const std::string config = place_.write(
      "alone.yaml", small_config("scaling: {devices: [cpu:1], batch: 64}\nstrategies: [serial, replicated]\nmeasure: {rehearse: always}\n"));
  ASSERT_EQ(place_.run({config, "-o", "alone", "--set", "epochs=200"}).code, 0);
  // The fixture's run has no rehearsals, and this one no other rows on several devices.
  Ended ended = place_.run({"predict", "alone", "--devices", "2,8", "--link", "latency=5us,bandwidth=20GB/s"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  for (const char* text : {"rehearsals", "cpu:2", "cpu:8", "bandwidth"}) EXPECT_NE(ended.out.find(text), std::string::npos) << text << ended.out;
  EXPECT_EQ(ended.out.find("cpu:4"), std::string::npos) << ended.out;
}

TEST_F(Analysis, RefusesNonsenseInOneSentence) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"predict", run_, "--link", "fast"}, {"predict", run_, "--link", "latency=-1us,bandwidth=1GB/s"},
           {"predict", run_, "--link", ""}, {"predict", run_, "--devices", ""}, {"report", run_, "--objective", ""},
           {"compare", run_, run_, "--fail-on-regression", ""},
           {"predict", run_, "--devices", "8,,16"}, {"predict", run_, "--devices", "0"},
           {"compare", run_, run_, "--fail-on-regression", "much"}, {"compare", run_}, {"export", run_},
           {"report", run_, "--objective", "beauty"}}) {
    const Ended ended = place_.run(words);
    EXPECT_EQ(ended.code, 2) << testing::PrintToString(words) << ended.err;
    EXPECT_NE(ended.err, "");
    EXPECT_EQ(ended.out, "");
  }
  for (const char* command : {"report", "predict"}) EXPECT_EQ(place_.run({command, run_ + "/nowhere"}).code, 4);
  EXPECT_EQ(place_.run({"compare", run_, run_ + "/nowhere"}).code, 4);
}

TEST_F(Analysis, DamagedAndEmptyFilesAreSentences) {
  std::ofstream(path("results.sqlite"), std::ios::trunc).flush();
  Ended ended = place_.run({"report", run_});
  EXPECT_EQ(ended.code, 4);
  EXPECT_NE(ended.err.find("empty"), std::string::npos) << ended.err;
  std::ofstream(path("results.sqlite")) << std::string(5000, 'x');
  ended = place_.run({"report", run_});
  EXPECT_EQ(ended.code, 4);
  EXPECT_NE(ended.err, "");
}

TEST_F(Analysis, ExportsALogATrial) {
  const Ended ended = place_.run({"export", run_, "--mllog"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  std::size_t files = 0;
  for (const auto& file : fs::directory_iterator(path("mllog"))) {
    std::ifstream stream(file.path());
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    EXPECT_NE(text.find("\"eval_accuracy\""), std::string::npos);
    ++files;
  }
  EXPECT_EQ(files, place_.only_run().rows.size());
  Database(path("results.sqlite"), Database::Mode::write).script("UPDATE trial SET weights_hash = '00' WHERE number = 1");
  const Ended damaged = place_.run({"export", run_, "--mllog"});
  EXPECT_EQ(damaged.code, 0) << damaged.err;
  EXPECT_NE(damaged.out.find(std::to_string(files - 1) + " trials, without 1 whose rows are damaged"), std::string::npos) << damaged.out;
  const Ended predicted = place_.run({"predict", run_, "--devices", "8", "--link", "latency=5us,bandwidth=20GB/s"});
  EXPECT_NE(predicted.err.find("1 trial whose row is damaged is left out"), std::string::npos) << predicted.err;
}

}  // namespace
}  // namespace mgcompare
