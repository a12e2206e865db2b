// The real program on several hosts, which are network namespaces here.

#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/data/npy_files.h"
#include "hosts/hosts.h"
#include "results/weight_sketch.h"
#include "runtime/checkpoint.h"

namespace mgcompare {
namespace {

using ::testing::HasSubstr;

TEST_F(Hosts, ExactStrategiesAgreeWithOneDeviceOnTwoHosts) {
  MGCOMPARE_NETWORK(network, 2);
  const std::uint64_t before = network.bytes_sent(1);
  const Ended ended = run(network, hosts_config("cpu:1, cpu:2x1", "serial, replicated, data_parallel, tower"));
  ASSERT_EQ(ended.code, 0) << ended.err << ended.out;
  EXPECT_THAT(ended.err, HasSubstr(" are one machine: "));
  const mgcompare::Run run = place_.only_run();
  const Result& serial = row_named(run, "serial cpu:1 batch 64").result;
  for (const char* name : {"replicated cpu:2x1 batch 64", "data_parallel cpu:2x1 batch 64", "tower cpu:2x1 batch 64"}) {
    const Result& result = row_named(run, name).result;
    ASSERT_EQ(result.status, TrialStatus::done) << name << ": " << result.cause;
    EXPECT_EQ(result.epochs.back().ranks_apart, 0u) << name;
    EXPECT_EQ(result.ranks.size(), 2u);
    const std::string &one = serial.epochs.back().sketch, &several = result.epochs.back().sketch;
    EXPECT_LT(sketch_distance(several, one).value(), 1e-5 * sketch_norm(one).value()) << name;
    bool has_links = false;
    for (const Sent& sent : result.placement.at(0).sent) has_links |= sent.over == "the links between hosts" && sent.bytes > 0;
    EXPECT_TRUE(has_links) << name;
  }
  // Two epochs of eight steps, in which each host sends its half of the sum, and its half of the gradient.
  const Result& replicated = row_named(run, "replicated cpu:2x1 batch 64").result;
  EXPECT_GT(network.bytes_sent(1) - before, 16 * 4 * replicated.parameters);
  expect_nothing_left(network, 2);
}

TEST_F(Hosts, FreePaceTrainsEverySampleOnTwoHosts) {
  MGCOMPARE_NETWORK(network, 2);
  const Ended ended = run(network, hosts_config("cpu:2x1", "serial, {easgd: {every: 2}}, async_sgd, {async_sgd: {server: host, as: on the host}}", "numerics: {deterministic: true}\n"), {"--set", "measure.record=true"});
  const mgcompare::Run run = place_.only_run();
  for (const char* name : {"easgd cpu:2x1 batch 64", "async_sgd cpu:2x1 batch 64"}) {
    const Result& result = row_named(run, name).result;
    ASSERT_EQ(result.status, TrialStatus::done) << name << ": " << result.cause << ended.err;
    EXPECT_EQ(result.samples, result.samples_due) << name;
    double between = 0;
    for (const RankPlacement& rank : result.placement)
      for (const Sent& sent : rank.sent) between += sent.over == "the links between hosts" ? sent.bytes : 0;
    EXPECT_GT(between, 4.0 * static_cast<double>(result.parameters) / 2) << name;
  }
  EXPECT_EQ(row_named(run, "on the host cpu:2x1 batch 64").result.status, TrialStatus::unavailable);
  EXPECT_THAT(row_named(run, "on the host cpu:2x1 batch 64").result.cause, HasSubstr("the memory of one host"));
  expect_nothing_left(network, 2);
}

TEST_F(Hosts, BitsAreEqualOnRepetitionOnThreeHosts) {
  MGCOMPARE_NETWORK(network, 3);
  const Ended ended = run(network, hosts_config("cpu:3x1", "serial, replicated, {replicated: {as: again}}"));
  ASSERT_EQ(ended.code, 0) << ended.err << ended.out;
  const mgcompare::Run run = place_.only_run();
  const Result &one = row_named(run, "replicated cpu:3x1 batch 64").result, &other = row_named(run, "again cpu:3x1 batch 64").result;
  EXPECT_EQ(one.weights_hash, other.weights_hash);
  EXPECT_FALSE(one.weights_hash.empty());
  EXPECT_EQ(one.ranks.size(), 3u);
  expect_nothing_left(network, 3);
}

TEST_F(Hosts, OneHostByNameIsARunWithoutHosts) {
  MGCOMPARE_NETWORK(network, 1);
  const Ended ended = run(network, hosts_config("cpu:1", "serial"));
  ASSERT_EQ(ended.code, 0) << ended.err;
  const std::string named = row_named(place_.only_run(), "serial cpu:1 batch 64").result.weights_hash;
  std::filesystem::remove_all(place_.folder() / "runs");
  ASSERT_EQ(place_.run({"hosts.yaml"}).code, 0);
  EXPECT_EQ(row_named(place_.only_run(), "serial cpu:1 batch 64").result.weights_hash, named);
}

// Of either host, before its ranks start and in a step; the trials after it run on both hosts.
TEST_F(Hosts, AnErrorIsARowWithItsSentenceAndLaterTrialsRun) {
  MGCOMPARE_NETWORK(network, 2);
  for (const std::size_t host : {0u, 1u}) {
    const std::string at = fmt::format("rank: {}", host);
    const std::string config = place_.write("hosts.yaml", hosts_config("cpu:2x1", "{misbehave: {how: throw, where: construct, " + at + ", as: early}}, {misbehave: {how: throw, " + at +
                                                                                   ", as: late}}, {misbehave: {how: segv, " + at + ", as: crash}}, {local_sgd: {every: 2}}"));
    start(network, {config, "--hosts", network.names(), "-o", place_.folder() / std::to_string(host)}, {{"MGCOMPARE_TEST_HOST", network.name(host)}}).wait();
    const mgcompare::Run run = read_run(place_.folder() / std::to_string(host));
    for (const char* name : {"early cpu:2x1 batch 64", "late cpu:2x1 batch 64"}) {
      EXPECT_EQ(row_named(run, name).result.status, TrialStatus::failed) << name;
      EXPECT_THAT(row_named(run, name).result.cause, HasSubstr("the planted error")) << name;
    }
    EXPECT_EQ(row_named(run, "crash cpu:2x1 batch 64").result.status, TrialStatus::crashed) << row_named(run, "crash cpu:2x1 batch 64").result.cause;
    EXPECT_EQ(row_named(run, "local_sgd cpu:2x1 batch 64").result.status, TrialStatus::done) << row_named(run, "local_sgd cpu:2x1 batch 64").result.cause;
  }
  expect_nothing_left(network, 2);
}

// Each of either host, where its rank does it alone.
TEST_F(Hosts, WhatAPluginLeavesIsNotedInItsFirstTrial) {
  MGCOMPARE_NETWORK(network, 2);
  const Ended ended = run(network, hosts_config("cpu:2x1", "replicated, tower, {misbehave: {how: descriptors, rank: 0, as: here}}, {misbehave: {how: thread, rank: 1, as: there}}",
                                                "isolation: sweep\n"));
  const mgcompare::Run run = place_.only_run();
  const auto notes = [&](const std::string& name) { return fmt::format("{}", fmt::join(row_named(run, name + " cpu:2x1 batch 64").result.notes, "; ")); };
  EXPECT_EQ(notes("replicated"), "") << ended.err;
  EXPECT_EQ(notes("tower"), "") << ended.err;
  EXPECT_THAT(notes("here"), HasSubstr("the plugin of here left 3 open descriptors in the worker, which was replaced"));
  EXPECT_THAT(notes("there"), HasSubstr("the plugin of there left 1 thread on host " + network.name(1)));
  // The program's own threads serve the other host, and are not the strategy's.
  const Result& honest = row_named(run, "replicated cpu:2x1 batch 64").result;
  EXPECT_LT(honest.seconds_other_threads, 0.1 * honest.seconds_rank_threads);
  expect_nothing_left(network, 2);
}

TEST_F(Hosts, AnExitIsARowWithTheHostAndTheCode) {
  MGCOMPARE_NETWORK(network, 2);
  run(network, hosts_config("cpu:2x1", "{misbehave: {how: normal exit, as: normal}}, {misbehave: {how: quick exit, as: quick}}"));
  const mgcompare::Run run = place_.only_run();
  for (const auto& [name, code] : {std::pair{"normal cpu:2x1 batch 64", 0}, std::pair{"quick cpu:2x1 batch 64", 3}}) {
    EXPECT_EQ(row_named(run, name).result.status, TrialStatus::crashed);
    EXPECT_EQ(row_named(run, name).result.cause, fmt::format("the worker of host {} ended by itself (exit code {})", network.name(1), code));
  }
  expect_nothing_left(network, 2);
}

TEST_F(Hosts, OtherWaysToStartHostsContinueARun) {
  const std::string config = place_.write("hosts.yaml", hosts_config("cpu:1", "serial", "hosts: {timeout: 3, launcher: mpirun}\ncheckpoint_epochs: 1\n"));
  ASSERT_EQ(place_.run({config, "-o", "run"}).code, 0);
  const Ended ended = place_.run({config, "-o", "run", "--resume", "--set", "hosts.timeout=5", "--set", "hosts.launcher=auto"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(place_.run({config, "-o", "run", "--resume", "--set", "epochs=3"}).code, 5);
}

TEST_F(Hosts, AnInterruptionEndsAllHosts) {
  MGCOMPARE_NETWORK(network, 2);
  Program program = start(network, {place_.write("hosts.yaml", hosts_config("cpu:2x1", "replicated")), "--hosts", network.names(), "--set", "epochs=100000"});
  wait_for_training(network);
  program.signal(SIGINT);
  const Ended ended = program.wait();
  EXPECT_EQ(ended.code, 130) << ended.err;
  bool is_interrupted = false;
  for (const Row& row : place_.only_run().rows) is_interrupted |= row.result.status == TrialStatus::interrupted;
  EXPECT_TRUE(is_interrupted) << ended.err;
  expect_nothing_left(network, 2);
}

// Each host's ranks continue from their own state, with the momentum.
TEST_F(Hosts, AnInterruptedTrainingContinuesFromItsCheckpointOnAllHosts) {
  MGCOMPARE_NETWORK(network, 2);
  const std::string config = place_.write("hosts.yaml", hosts_config("cpu:2x1", "serial, {local_sgd: {every: 3}}", "checkpoint_epochs: 20\n"));
  const std::string name = "local_sgd cpu:2x1 batch 64";
  const auto arguments = [&](const std::string& folder) {
    return std::vector<std::string>{config, "--hosts", network.names(), "-o", folder, "--set", "epochs=800", "--only", "strategy=local_sgd"};
  };
  const Ended whole = start(network, arguments("whole")).wait();
  ASSERT_EQ(whole.code, 0) << whole.err;
  Program program = start(network, arguments("parts"));
  const std::filesystem::path checkpoints = place_.folder() / "parts/checkpoints";
  const auto written = [&] {
    std::error_code none_yet;
    for (const auto& entry : std::filesystem::directory_iterator(checkpoints, none_yet))
      if (entry.path().extension() != ".tmp") return entry.path().string();
    return std::string();
  };
  for (int round = 0; round < 6000 && written().empty(); ++round) usleep(5'000);
  program.signal(SIGINT);
  const Ended part = program.wait();
  ASSERT_EQ(part.code, 130) << part.err;
  EXPECT_EQ(row_named(read_run((place_.folder() / "parts").string()), name).result.status, TrialStatus::interrupted);
  const auto before = read_checkpoint(written(), 1 << 26).progress.at("result").get<Result>();
  ASSERT_FALSE(before.epochs.empty());
  std::vector<std::string> again = arguments("parts");
  again.emplace_back("--resume");
  const Ended resumed = start(network, again).wait();
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  const Result continued = row_named(read_run((place_.folder() / "parts").string()), name).result;
  EXPECT_EQ(continued.weights_hash, row_named(read_run((place_.folder() / "whole").string()), name).result.weights_hash);
  ASSERT_FALSE(continued.epochs.empty());
  EXPECT_EQ(continued.epochs.front().seconds_training, before.epochs.front().seconds_training) << "it began anew";
  expect_nothing_left(network, 2);
}

TEST_F(Hosts, HostsThatCannotBeUsedAreRefusedInASentence) {
  MGCOMPARE_NETWORK(network, 2);
  const std::string config = place_.write("hosts.yaml", hosts_config("cpu:2x1", "replicated"));
  const auto begin = std::chrono::steady_clock::now();
  const Ended unknown = start(network, {config, "--hosts", network.name(0) + ",nohost"}).wait();
  EXPECT_EQ(unknown.code, 4);
  EXPECT_THAT(unknown.err, HasSubstr("nohost")) << unknown.err;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  const Ended other = start(network, {config, "--hosts", network.name(1) + "," + network.name(0)}).wait();
  EXPECT_EQ(other.code, 4);
  EXPECT_THAT(other.err, HasSubstr("run mgcompare on the first host, or name this machine first"));
  const Ended wrong = start(network, {config, "--hosts", "-oProxyCommand=x"}).wait();
  EXPECT_EQ(wrong.code, 2);
  expect_nothing_left(network, 2);
}

TEST_F(Hosts, VariablesOfLibrariesAreAlikeOnAllHosts) {
  MGCOMPARE_NETWORK(network, 2);
  const std::string config = place_.write("hosts.yaml", hosts_config("cpu:2x1", "replicated"));
  const std::map<std::string, std::string> own = {{"MALLOC_ARENA_MAX", "8"}};
  EXPECT_EQ(start(network, {config, "--hosts", network.names(), "-o", "passed_on"}, own).wait().code, 0);
  network.set_variable("MALLOC_ARENA_MAX=8");
  const Ended differs = start(network, {config, "--hosts", network.names(), "-o", "differs"}).wait();
  EXPECT_EQ(differs.code, 4);
  EXPECT_THAT(differs.err, HasSubstr("host " + network.name(1) + " has MALLOC_ARENA_MAX=8, which is not set on this machine")) << differs.err;
  expect_nothing_left(network, 2);
}

TEST_F(Hosts, DevicesAndLinksOfAllHostsAreShown) {
  MGCOMPARE_NETWORK(network, 2);
  const Ended listed = start(network, {"devices", "--hosts", network.names()}).wait();
  EXPECT_EQ(listed.code, 0) << listed.err;
  for (std::size_t host = 0; host < 2; ++host) EXPECT_THAT(listed.out, HasSubstr(network.name(host) + "\ncpu:0 ")) << listed.err;
  const std::uint64_t before = network.bytes_sent(1);
  const Ended measured = start(network, {"doctor", "--hosts", network.names(), "--json"}).wait();
  EXPECT_LE(measured.code, 1) << measured.err;  // 1: a busy machine may look like a slow link
  EXPECT_GT(network.bytes_sent(1) - before, std::uint64_t{40} << 20) << "five messages of 8 MiB";
  const nlohmann::json survey = nlohmann::json::parse(measured.out);
  ASSERT_EQ(survey.at("hosts").size(), 2u);
  EXPECT_FALSE(survey.at("hosts")[1].at("platforms")[0].at("links").at("devices").empty());
  ASSERT_EQ(survey.at("between").size(), 2u);
  for (const nlohmann::json& link : survey.at("between")) {
    EXPECT_TRUE(link.at("intact").get<bool>());
    EXPECT_GT(link.at("bytes_per_second").get<double>(), 0);
  }
  // From a run on this machine and the measured link.
  const std::string config = place_.write("alone.yaml", hosts_config("cpu:1, cpu:2", "serial, replicated"));
  EXPECT_EQ(place_.run({config, "-o", "alone", "--set", "data.train_samples=20000"}).code, 0);
  const Ended predicted = place_.run({"predict", "alone", "--hosts", "2", "--link", place_.write("links.json", measured.out)});
  EXPECT_EQ(predicted.code, 0) << predicted.err;
  EXPECT_THAT(predicted.out, HasSubstr("cpu:2x1"));
  const Ended unknown = start(network, {"doctor", "--hosts", network.name(0) + ",nohost"}).wait();
  EXPECT_EQ(unknown.code, 4);
  EXPECT_THAT(unknown.err, HasSubstr("nohost"));
  expect_nothing_left(network, 2);
}

TEST_F(Hosts, SamplesAreSentToHostsWithoutFiles) {
  MGCOMPARE_NETWORK(network, 2);
  constexpr std::size_t kFeatures = 20, kClasses = 3;
  const std::string folder = (place_.folder() / "samples").string();
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& name, const std::vector<std::size_t>& shape, const std::function<std::size_t(std::size_t)>& value) {
    std::vector<std::uint8_t> bytes(std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>()));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(value(i));
    const std::vector<std::uint8_t> file = npy("|u1", shape, bytes);
    place_.write("samples/" + name, std::string(file.begin(), file.end()));
  };
  for (const auto& [split, samples] : {std::pair<std::string, std::size_t>{"", 600}, {"_test", 90}}) {
    write("x" + split + ".npy", {samples, kFeatures}, [](std::size_t i) { return i / kFeatures % kClasses * 80 + i * 7 % 60; });
    write("y" + split + ".npy", {samples}, [](std::size_t i) { return i % kClasses; });
  }
  const std::string config = place_.write("sent.yaml", "name: sent\nlayers: [{dense: 16}, tanh, {dense: 3}]\ndata: {set: npy, path: samples}\nepochs: 2\n"
                                                       "scaling: {devices: [cpu:1, cpu:2x1], batch: 60}\nmeasure: {level: quick, time_limit: 60}\n"
                                                       "strategies: [replicated, misbehave: {how: segv, step: 1}]\n");
  network.hide(folder);
  const Ended without = start(network, {config, "--hosts", network.names()}).wait();
  EXPECT_EQ(without.code, 4);
  EXPECT_THAT(without.err, HasSubstr("host " + network.name(1) + " cannot read the data (--send-data sends those of this machine): ")) << without.err;
  std::filesystem::remove_all(place_.folder() / "runs");
  // A job after one that crashed gets them again.
  const Ended with = start(network, {config, "--hosts", network.names(), "--send-data"}).wait();
  const mgcompare::Run run = place_.only_run();
  const Result &one = row_named(run, "replicated cpu:1 batch 60").result, &two = row_named(run, "replicated cpu:2x1 batch 60").result;
  ASSERT_EQ(two.status, TrialStatus::done) << two.cause << with.err;
  EXPECT_LT(sketch_distance(two.epochs.back().sketch, one.epochs.back().sketch).value(), 1e-5 * sketch_norm(one.epochs.back().sketch).value());
  expect_nothing_left(network, 2);
}

}  // namespace
}  // namespace mgcompare
