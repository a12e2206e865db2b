// Plugins that are built outside of the source tree, with CMake and the SDK's package.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "mgcompare/contract.h"
#include "rig.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

class PluginBuild : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(shell("cmake --install " MGCOMPARE_BINARY_DIR " --component sdk --prefix sdk"), 0) << log();
  }

  int shell(const std::string& command) const {
    return std::system(("cd " + place_.folder().string() + " && (" + command + ") >build.log 2>&1").c_str());
  }
  std::string log() const { return text_of(place_.folder() / "build.log"); }
  int configure(const std::string& options = "") const {
    return shell("cmake -S mine -B mine/build -DCMAKE_PREFIX_PATH=$PWD/sdk " + options);
  }
  int build() const { return shell("cmake --build mine/build"); }
  Ended check() const { return place_.run({"plugins", "check", plugin()}); }
  std::string plugin() const { return "mine/build/strategy_mine.so"; }
  bool has_gpu_code() const {
    return text_of(place_.folder() / plugin()).find(".nv_fatbin") != std::string::npos;
  }

  fs::path header(const std::string& name) const { return place_.folder() / "sdk/include/mgcompare" / name; }
  void edit(const fs::path& file, const std::string& from, const std::string& to) const {
    std::string text = text_of(file);
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << file << " has no: " << from;
    std::ofstream(file) << text.replace(at, from.size(), to);
  }
};

TEST_F(PluginBuild, AChangedBodyKeepsTheContractAndAChangedStructBreaksIt) {
  ASSERT_EQ(place_.run({"plugins", "new", "mine"}).code, 0);
  ASSERT_EQ(configure(), 0) << log();
  ASSERT_EQ(build(), 0) << log();
  EXPECT_EQ(check().code, 0) << check().out;

  edit(header("detail/group.h"), "count *= width;", "count = width * count;");
  edit(header("detail/half.h"), "0x7e00u", "0x7e01u");
  edit(header("arithmetic.h"), "inline bool runs_on_cpu(const Device& device);", "inline bool runs_on_cpu(const Device& on);");
  edit(header("strategy.h"), "#pragma once", "// Another comment.\n#pragma once");
  ASSERT_EQ(build(), 0) << log();
  EXPECT_NE(log().find("mine.cc"), std::string::npos) << "it was not compiled again: " << log();
  EXPECT_EQ(check().code, 0) << check().out;

  edit(header("batch.h"), "double learning_rate = 0; ", "double learning_rate = 0, another = 0; ");
  ASSERT_EQ(build(), 0) << log();
  const Ended refused = check();
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.out.find("was built for another version"), std::string::npos) << refused.out;
}

// The flag is of one target, which the probe of the contract does not see.
TEST_F(PluginBuild, AnotherLayoutOfStringsIsRefused) {
  ASSERT_EQ(place_.run({"plugins", "new", "mine"}).code, 0);
  ASSERT_EQ(configure("-DCMAKE_CXX_FLAGS=-D_GLIBCXX_USE_CXX11_ABI=0"), 0) << log();
  ASSERT_EQ(build(), 0) << log();
  const Ended refused = check();
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.out.find("was built for another version"), std::string::npos) << refused.out;
}

// Each of these is part of the boundary and is declared in a different header.
TEST_F(PluginBuild, EveryDeclarationAtTheBoundaryIsInTheContract) {
  std::ofstream(place_.folder() / "hash.cmake") << "cmake_minimum_required(VERSION 3.25)\n"
                                                   "include(" MGCOMPARE_SOURCE_DIR "/cmake/Contract.cmake)\n"
                                                   "mgcompare_hash_headers(${INCLUDE} hash)\nmessage(\"sdk=${hash},\")\n";
  const auto hash = [&] {
    EXPECT_EQ(shell("cmake -DINCLUDE=$PWD/sdk/include -P hash.cmake"), 0) << log();
    return log().substr(0, log().find('\n'));
  };
  const std::string before = hash();
  EXPECT_EQ(std::string(MGCOMPARE_CONTRACT).find(before), 0u) << before << " is not that of " MGCOMPARE_CONTRACT;
  const std::pair<const char*, const char*> declarations[] = {
      {"strategy.h", "int repeats_every = 0;"}, {"strategy.h", "virtual void rest(Replica&, Group&) {}"},
      {"replica.h", "virtual std::size_t classes() const = 0;"}, {"group.h", "virtual int expose(Vec memory) = 0;"},
      {"device.h", "virtual void synchronize() = 0;"}, {"device.h", "bool transpose_a = false;"},
      {"options.h", "virtual bool given(std::string_view key) const = 0;"}, {"archive.h", "bool on_host) = 0;"},
      {"random.h", "std::uint64_t stream_;"}, {"types.h", "std::size_t size_ = 0;"}, {"error.h", "class Aborted"}};
  for (const auto& [name, declaration] : declarations) {
    const std::string kept = text_of(header(name));
    edit(header(name), declaration, "");
    EXPECT_NE(hash(), before) << name << ": " << declaration;
    std::ofstream(header(name)) << kept;
  }
  EXPECT_EQ(hash(), before);
}

TEST_F(PluginBuild, AHeaderThatMovedNamesItsReplacement) {
  ASSERT_EQ(place_.run({"plugins", "new", "mine"}).code, 0);
  ASSERT_EQ(configure(), 0) << log();
  for (const auto& [moved, replacement] :
       {std::pair("arithmetic_cuda.h", "include mgcompare/arithmetic.h"), std::pair("arithmetic_cpu.h", "include mgcompare/arithmetic.h"),
        std::pair("portable.h", "include mgcompare/types.h"), std::pair("segments_cuda.h", "plugins/onebit"),
        std::pair("selection_cuda.h", "plugins/top_k"), std::pair("largest_cuda.h", "plugins/top_k")}) {
    EXPECT_FALSE(fs::exists(header(moved)));
    std::ofstream(place_.folder() / "mine/mine.cc") << "#include \"mgcompare/" << moved << "\"\n";
    EXPECT_NE(build(), 0);
    EXPECT_NE(log().find(std::string("mgcompare/") + moved + " moved: "), std::string::npos) << log();
    EXPECT_NE(log().find(replacement), std::string::npos) << log();
  }
}

TEST_F(PluginBuild, ANewPluginForGpusIsCompiledByNvccWhereThereIsOne) {
  const Ended made = place_.run({"plugins", "new", "mine", "--cuda"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(text_of(place_.folder() / "mine/mine.cc").find("for_each("), std::string::npos);
  ASSERT_EQ(configure("-DCMAKE_CUDA_ARCHITECTURES=90-real"), 0) << log();
  const bool by_nvcc = log().find("for GPUs too, generations 90-real") != std::string::npos;
  EXPECT_EQ(by_nvcc, shell("command -v nvcc || test -x /usr/local/cuda/bin/nvcc") == 0);
  if (!by_nvcc) {
    EXPECT_NE(log().find("for CPUs only"), std::string::npos) << log();
  }
  ASSERT_EQ(build(), 0) << log();
  EXPECT_EQ(has_gpu_code(), by_nvcc);
  EXPECT_EQ(check().code, 0) << check().out;

  const std::string config = small_config("plugins: " + plugin() +
                                          "\nstrategies: [serial, mine]\nscaling: {devices: [cpu:1], batch: 50}\n"
                                          "measure: quick\n");
  const Ended trained = place_.run({place_.write("own.yaml", config)});
  EXPECT_EQ(trained.code, 0) << trained.err;
}

TEST_F(PluginBuild, WithoutNvccOnlyTheCpuIsComputedOn) {
  ASSERT_EQ(place_.run({"plugins", "new", "mine", "--cuda"}).code, 0);
  ASSERT_EQ(configure("-DMGCOMPARE_CUDA=OFF"), 0) << log();
  EXPECT_NE(log().find("Strategies are compiled for CPUs only"), std::string::npos) << log();
  ASSERT_EQ(build(), 0) << log();
  EXPECT_FALSE(has_gpu_code());
  EXPECT_EQ(check().code, 0) << check().out;

  fs::rename(place_.folder() / "mine/mine.cc", place_.folder() / "mine/mine.cu");
  edit(place_.folder() / "mine/CMakeLists.txt", "mine.cc", "mine.cu");
  ASSERT_EQ(build(), 0) << log();
  EXPECT_EQ(check().code, 0) << check().out;

  edit(place_.folder() / "mine/CMakeLists.txt", "mine.cu CUDA", "mine.cu");
  EXPECT_NE(configure(), 0);
  EXPECT_NE(log().find("write CUDA behind the sources"), std::string::npos) << log();
}

}  // namespace
}  // namespace mgcompare
