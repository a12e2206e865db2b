// What the program reports about a machine, with and without faults. Faulty machines use the fake GPUs of tests/fakes.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "rig.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Variables = std::map<std::string, std::string>;

using Machine = CommandTest;

class BrokenMachine : public Machine {
 protected:
  void SetUp() override {
    Machine::SetUp();
    if (!IsSkipped()) place_.use_fake_gpus();
  }
  Variables fault(const std::string& fault) const {
    return {{"MGCOMPARE_TEST_FAULT", fault}, {"MGCOMPARE_TEST_MARK", (place_.folder() / "mark").string()}};
  }
  std::string config(const std::string& devices) const {
    return place_.write("gpus.yaml", small_config("scaling: {devices: [" + devices +
                                                  "], batch: 64}\nseeds: [1, 2]\n"
                                                  "strategies: [serial, replicated]\n"));
  }
};

TEST_F(Machine, DevicesAreListedAsJsonToo) {
  const Ended ended = place_.run({"devices", "--json"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  const Json all = Json::parse(ended.out);
  ASSERT_EQ(all.at(0).at("kind"), "cpu");
  EXPECT_EQ(all[0].at("devices").at(0).at("device"), "cpu:0");
  EXPECT_GT(all[0]["devices"][0].at("memory_bytes").get<double>(), 0);
}

TEST_F(Machine, TheDoctorChecksAndTimesEveryLink) {
  const Ended ended = place_.run({"doctor", "--json"});
  const Json all = Json::parse(ended.out);
  std::size_t problems = 0;
  for (const Json& kind : all) {
    if (!kind.contains("links")) continue;
    const Json& links = kind["links"];
    const std::size_t devices = links.at("devices").size();
    problems += links.at("problems").size();
    EXPECT_EQ(links.at("pairs").size(), devices * (devices - 1));
    for (const Json& device : links["devices"]) {
      EXPECT_TRUE(device.at("intact"));
      EXPECT_GT(device.at("bytes_per_second_to_device"), 0);
      EXPECT_GT(device.at("flops_per_second"), 0);
    }
    for (const Json& pair : links["pairs"]) {
      EXPECT_TRUE(pair.at("intact"));
      EXPECT_GT(pair.at("bytes_per_second"), 0);
      EXPECT_GT(pair.at("seconds_small"), 0);
    }
    if (devices < 2) continue;
    EXPECT_EQ(links.at("all_reduces").front().at("bytes"), 4096);
    EXPECT_EQ(links["all_reduces"].back().at("bytes"), 64 << 20);
    EXPECT_EQ(links["all_reduces"].back().at("devices"), devices);
  }
  EXPECT_EQ(ended.code, problems == 0 ? 0 : 1) << "a busy machine may be told of, but nothing else";
}

// The real CUDA module, with missing or outdated libraries.
class WrongLibraries : public Machine {
 protected:
  void SetUp() override {
    Machine::SetUp();
    if (!IsSkipped() && !fs::exists(modules() / "platform_cuda.so")) GTEST_SKIP() << "a build without CUDA";
  }
  static bool loader_finds_driver() { return dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr; }
  static fs::path modules() { return fs::path(MGCOMPARE_BINARY_DIR) / "lib/mgcompare"; }
  std::string problem(const std::string& folder, Variables variables) const {
    // Without a driver the module is not loaded.
    variables["LD_LIBRARY_PATH"] = (modules() / "fakes" / folder).string() + ":" + (modules() / "fakes/no_gpu").string();
    const Ended ended = place_.run({"devices", "--json"}, variables);
    EXPECT_EQ(ended.code, 0) << ended.err << "there are CPUs";
    return Json::parse(ended.out).at(1).at("problem").get<std::string>();
  }
};

TEST_F(WrongLibraries, AnNcclThatIsTooOldIsASentenceWithBothVersions) {
  const std::string said = problem("old_nccl", {});
  EXPECT_NE(said.find("NCCL 2.26.5 is installed, this program needs 2.27.0: install a newer NCCL"), std::string::npos)
      << said;
}

TEST_F(WrongLibraries, WithoutADriverTheModuleIsNotLoaded) {
  if (loader_finds_driver()) GTEST_SKIP() << "an NVIDIA driver is installed";
  const Json cuda = Json::parse(place_.run({"devices", "--json"}).out).at(1);
  EXPECT_EQ(cuda.at("problem"), "no NVIDIA driver is installed");
  EXPECT_TRUE(cuda.at("facts").empty()) << cuda << ": the versions of its libraries";
}

TEST_F(WrongLibraries, WhereTheUserChoseTheGpusThatIsSaidWithTheChoice) {
  const std::string said = problem("no_gpu", {{"CUDA_VISIBLE_DEVICES", "banana"}});
  EXPECT_EQ(said, "the NVIDIA driver finds no GPU: no CUDA-capable device is detected (CUDA_VISIBLE_DEVICES is "
                  "'banana')");
}

TEST_F(BrokenMachine, APluginWithoutCodeForItsGpusIsToldSo) {
  const std::string folder = std::string(MGCOMPARE_BINARY_DIR) + "/lib/mgcompare/";
  if (!fs::exists(folder + "platform_cuda.so")) GTEST_SKIP() << "a build without CUDA";
  const std::string file = folder + "plugins/strategy_tower.so";
  const Ended ended = place_.run({"plugins", "check", file}, fault("old"));
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_NE(ended.out.find(file + ": it has no code for the no GPU, a test of this machine (compute capability 5.0); build it again with "
                                  "-DCMAKE_CUDA_ARCHITECTURES=50\n"), std::string::npos) << ended.out;
  const Ended without = place_.run({"plugins", "check", folder + "plugins/strategy_serial.so"}, fault("old"));
  EXPECT_EQ(without.out.find("has no code for the"), std::string::npos) << without.out;
}

TEST_F(BrokenMachine, TheDoctorNamesThePairThatDamagesData) {
  const Ended ended = place_.run({"doctor"}, fault("pair 1 2"));
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_NE(ended.out.find("data copied from cuda:1 to cuda:2 arrive damaged"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("data copied from cuda:2 to cuda:1"), std::string::npos) << ended.out;
}

TEST_F(BrokenMachine, ARunOverABrokenPairIsTainted) {
  const Ended ended = place_.run({config("1, 4")}, fault("pair 1 2"));
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.err.find("tainted: data copied from cuda:1 to cuda:2"), std::string::npos) << ended.err;
  EXPECT_NE(ended.out.find("TAINTED: data copied from cuda:1 to cuda:2"), std::string::npos) << ended.out;
  const auto run = place_.only_run();
  ASSERT_EQ(run.info.taints.size(), 1u);
  EXPECT_NE(text_of(run.directory + "/report.md").find("TAINTED"), std::string::npos);
  EXPECT_EQ(Json::parse(text_of(run.directory + "/results.json")).at("tainted").size(), 1u);
}

TEST_F(BrokenMachine, ARunThatDoesNotUseTheBrokenPairIsNot) {
  const Ended ended = place_.run({config("1, 2")}, fault("pair 1 2"));
  EXPECT_EQ(ended.code, 0) << ended.err;
  const auto run = place_.only_run();
  EXPECT_TRUE(run.info.taints.empty());
  ASSERT_EQ(run.info.links.size(), 1u);
  EXPECT_EQ(run.info.links[0].pairs.size(), 2u);
}

TEST_F(BrokenMachine, AHotDeviceTaintsTheRunsThatUseIt) {
  const Ended hot = place_.run({config("1, 2"), "-o", "hot"}, fault("hot 1"));
  EXPECT_NE(hot.out.find("TAINTED: cuda:1 is slowed down by its temperature"), std::string::npos) << hot.out;
  const Ended spared = place_.run({config("1"), "-o", "spared"}, fault("hot 1"));
  EXPECT_EQ(spared.out.find("TAINTED"), std::string::npos) << spared.out;
}

TEST_F(BrokenMachine, ChosenDevicesAndTheirLinksAreThoseThatAreJudged) {
  const std::string chosen = config("{ids: [2, 3]}");
  const Ended hot = place_.run({chosen, "-o", "hot"}, fault("hot 3"));
  EXPECT_EQ(hot.code, 0) << hot.err;
  EXPECT_NE(hot.out.find("TAINTED: cuda:3 is slowed down by its temperature"), std::string::npos) << hot.out;
  for (const char* other : {"hot 1", "pair 0 1"}) {
    const Ended spared = place_.run({chosen, "-o", other}, fault(other));
    EXPECT_EQ(spared.code, 0) << spared.err;
    EXPECT_EQ(spared.out.find("TAINTED"), std::string::npos) << spared.out;
  }
  const Ended linked = place_.run({chosen, "-o", "linked"}, fault("pair 2 3"));
  EXPECT_NE(linked.err.find("tainted: data copied from cuda:2 to cuda:3 arrive damaged"), std::string::npos) << linked.err;
  // Those of the largest trial, whatever the order of the trials.
  const Ended several = place_.run({config("2, {ids: [1, 2, 3]}, 4"), "-o", "several"}, fault("pair 0 3"));
  EXPECT_NE(several.err.find("tainted: data copied from cuda:0 to cuda:3 arrive damaged"), std::string::npos) << several.err;
  EXPECT_EQ(read_run((place_.folder() / "several").string()).info.links.at(0).all_reduces.front().devices, 2u);
}

class DisappearingDevice : public BrokenMachine, public testing::WithParamInterface<const char*> {};

TEST_P(DisappearingDevice, MakesRowsOfItsTrialsAndTheOthersRun) {
  if (IsSkipped()) return;
  const Ended ended = place_.run({config("1, 2, 4")}, fault(std::string(GetParam()) + " 2"));
  EXPECT_EQ(ended.code, 3) << ended.err;
  const auto run = place_.only_run();
  int first_causes = 0, at_once = 0;
  for (const Row& row : run.rows) {
    EXPECT_EQ(row.state, RowState::finished);
    if (row.trial.devices < 4) {
      EXPECT_EQ(row.result.status, TrialStatus::done) << row.result.cause;
      continue;
    }
    EXPECT_EQ(row.result.status, TrialStatus::device_lost) << row.result.cause;
    EXPECT_NE(row.result.cause.find("cuda:2 no longer answers"), std::string::npos) << row.result.cause;
    (row.result.cause.find("; the trial: ") != std::string::npos ? first_causes : at_once) += 1;
  }
  EXPECT_EQ(first_causes, 1) << "the trial in which it happened";
  EXPECT_EQ(at_once, 1) << "later ones are not tried";

  // The fault is removed.
  fs::remove(place_.folder() / "mark");
  const Ended resumed = place_.run({"gpus.yaml", "--resume"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  for (const Row& row : place_.only_run().rows) EXPECT_EQ(row.result.status, TrialStatus::done) << row.result.cause;
}

TEST_P(DisappearingDevice, LetsTheOthersStandIn) {
  if (IsSkipped()) return;
  const Ended ended = place_.run({config("1, 2, 4"), "--set", "measure.time_limit=60"},
                                 fault(std::string(GetParam()) + " 0"));
  EXPECT_EQ(ended.code, 3) << ended.err;
  EXPECT_NE(ended.err.find("the remaining trials run on the other devices (3 of 4)"), std::string::npos) << ended.err;
  int lost = 0, on_others = 0;
  for (const Row& row : place_.only_run().rows) {
    const bool is_on_others = !row.result.notes.empty() &&
                              row.result.notes[0].find("slot 1)") != std::string::npos &&
                              row.result.notes[0].ends_with(", because cuda:0 no longer answers");
    lost += row.result.status == TrialStatus::device_lost ? 1 : 0;
    on_others += is_on_others ? 1 : 0;
    EXPECT_EQ(row.result.status == TrialStatus::done, is_on_others) << row.result.cause;
    if (row.trial.devices < 4) continue;
    EXPECT_EQ(row.result.status, TrialStatus::device_lost);
    EXPECT_NE(row.result.cause.find("cuda:0 no longer answers"), std::string::npos) << row.result.cause;
  }
  EXPECT_GE(on_others, 4);
  EXPECT_GE(lost, 2) << "those of four devices, and the trial in which it happened";
  EXPECT_LE(lost, 3);
}

TEST_F(BrokenMachine, ADeviceWhoseCopiesWriteNothingIsLost) {
  const Ended ended = place_.run({config("1, 2"), "--set", "seeds=[1]"}, fault("mute 1"));
  EXPECT_EQ(ended.code, 3) << ended.err;
  EXPECT_NE(ended.err.find("cuda:1 no longer answers: its memory returns other data than were written"), std::string::npos) << ended.err;
}

using LongBrokenMachine = BrokenMachine;

// The program waits for half a minute before it takes a device for lost.
TEST_F(LongBrokenMachine, ADeviceThatHangsIsTheOnlyOneLost) {
  const Ended ended = place_.run({config("1, 2, 4"), "--set", "measure.time_limit=3"}, fault("hangs 1"));
  EXPECT_EQ(ended.code, 3) << ended.err;
  EXPECT_NE(ended.err.find("cuda:1 no longer answers: no answer for 30 s"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("(3 of 4)"), std::string::npos) << ended.err;
  for (const Row& row : place_.only_run().rows) {
    if (row.trial.devices == 2) continue;  // the fault occurred in one of these trials or before it
    EXPECT_EQ(row.result.status, row.trial.devices == 1 ? TrialStatus::done : TrialStatus::device_lost) << row.result.cause;
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, DisappearingDevice, testing::Values("lost", "gone"));

TEST_F(BrokenMachine, APassingShortageOfDescriptorsIsNoMissingDevice) {
  const Ended ended = place_.run({config("1, 2"), "-o", "run"}, fault("files 2"));
  EXPECT_EQ(ended.code, 0) << ended.err;
  const Ended lasting = place_.run({config("1, 2"), "-o", "other"}, fault("files 100"));
  EXPECT_EQ(lasting.code, 4) << lasting.err;
  EXPECT_NE(lasting.err.find("cannot be listed: cannot list the GPUs: Too many open files"), std::string::npos) << lasting.err;
  EXPECT_FALSE(fs::exists(place_.folder() / "other" / "results.sqlite"));
}

TEST_F(BrokenMachine, AShortageOfDescriptorsDoesNotLoseADevice) {
  for (const char* attempts : {"descriptors 2", "descriptors 100"}) {
    fs::remove(place_.folder() / "mark");
    const Ended ended = place_.run({config("1"), "-o", attempts, "--seed", "1"}, fault(attempts));
    EXPECT_EQ(ended.err.find("no longer answers"), std::string::npos) << ended.err;
    for (const Row& row : read_run((place_.folder() / attempts).string()).rows)
      EXPECT_NE(row.result.status, TrialStatus::device_lost) << row.result.cause;
  }
}

TEST_F(BrokenMachine, ADeviceWithoutMemoryIsARowWithFigures) {
  const std::string config =
      place_.write("big.yaml",
                   "layers: [flatten, {dense: 1024}, tanh, {dense: 10}]\n"
                   "data: {set: digits, train_samples: 256, test_samples: 128}\nepochs: 1\n"
                   "scaling: {devices: [1, 2], batch: 64}\nseeds: [1, 2]\nstrategies: [serial, replicated]\n");
  const Ended ended = place_.run({config}, fault("memory 1"));
  EXPECT_EQ(ended.code, 3) << ended.err;
  for (const Row& row : place_.only_run().rows) {
    EXPECT_EQ(row.result.status, row.trial.devices == 1 ? TrialStatus::done : TrialStatus::out_of_memory) << row.result.cause;
    const bool has_figures = row.result.cause.find("asked 3.1 MiB, free 1.0 MiB, total 2.0 MiB") != std::string::npos;
    EXPECT_EQ(has_figures, row.trial.devices == 2) << row.result.cause;
  }
}

TEST_F(BrokenMachine, MoreGpusThanThereAreIsARow) {
  const Ended ended = place_.run({config("1, 8")});
  EXPECT_EQ(ended.code, 3) << ended.err;
  for (const Row& row : place_.only_run().rows) {
    EXPECT_EQ(row.result.status, row.trial.devices == 8 ? TrialStatus::unavailable : TrialStatus::done) << row.result.cause;
    EXPECT_EQ(row.result.cause.find("asked 8, have 4") != std::string::npos, row.trial.devices == 8);
  }
}

TEST_F(BrokenMachine, ADriverThatIsTooOldIsOneSentenceWithBothVersions) {
  const Ended listed = place_.run({"devices"}, fault("driver"));
  EXPECT_EQ(listed.code, 0) << "there are CPUs";
  EXPECT_NE(listed.out.find("supports CUDA 12.4, this program needs CUDA 13.0"), std::string::npos) << listed.out;
  const Ended ended =
      place_.run({place_.write("both.yaml",
                               small_config("scaling: {devices: [cpu:1, cuda:1], batch: 64}\nstrategies: [serial]\n"))},
                 fault("driver"));
  EXPECT_EQ(ended.code, 3) << ended.err;
  for (const Row& row : place_.only_run().rows) {
    const bool gpu = row.trial.device_kind == DeviceKind::cuda;
    EXPECT_EQ(row.result.status, gpu ? TrialStatus::unavailable : TrialStatus::done);
    EXPECT_EQ(row.result.cause.find("CUDA 12.4") != std::string::npos, gpu) << row.result.cause;
  }
}

TEST_F(BrokenMachine, VerboseSaysWhereEachPartOfATrialIs) {
  const Ended ended = place_.run({config("2"), "-v", "--only", "strategy=replicated,seed=1"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.err.find("ranks 0 on cuda:0, 1 on cuda:1: weights and gradients"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("all_reduce 50.9 kB a step over the links between devices"), std::string::npos) << ended.err;
  const auto run = place_.only_run();
  EXPECT_EQ(run.rows[0].result.placement.size(), 2u);
  EXPECT_NE(text_of(run.directory + "/report.md").find("## Placement"), std::string::npos);
}

}  // namespace
}  // namespace mgcompare
