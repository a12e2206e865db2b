// Runs a bundle that was moved from where it was made, with an empty environment.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <sstream>

#include "rig.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

class Bundle : public CommandTest {
 protected:
  // One bundle for all tests, because making it takes longer than all of them.
  static void SetUpTestSuite() {
    if (!missing_piece().empty()) return;
    shared_ = std::make_unique<Workplace>();
    made_ = shell(std::string(MGCOMPARE_SOURCE_DIR) + "/scripts/bundle made --build " + MGCOMPARE_BINARY_DIR);
    if (made_.code != 0) return;
    fs::create_directories(place().folder() / "far away");
    fs::rename(place().folder() / "made", folder());
  }
  static void TearDownTestSuite() { shared_.reset(); }

  void SetUp() override {
    CommandTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(made_.code, 0) << made_.err;
    EXPECT_NE(made_.err.find("MB as tar.gz"), std::string::npos) << made_.err;
  }
  static const Workplace& place() { return *shared_; }
  static fs::path folder() { return place().folder() / "far away" / "bundle"; }
  static Ended shell(const std::string& script) {
    return Program(place().folder(), "/bin/bash", {"-c", script}, {}).wait();
  }
  static Ended launch(const std::string& words) {
    return shell("env -i PATH=/usr/bin:/bin ASAN_OPTIONS=\"$ASAN_OPTIONS\" HOME=\"$PWD\" '" +
                 (folder() / "mgcompare").string() + "' " + words);
  }

  static inline Ended made_;

 private:
  static inline std::unique_ptr<Workplace> shared_;
};

// The module for several hosts also needs the machine's Open MPI.
TEST_F(Bundle, NeedsTheCLibraryAndCudaOnly) {
  const Ended ended = shell(
      "cd 'far away/bundle' && export LD_LIBRARY_PATH=$PWD/lib/system:$PWD/lib/compiler && "
      "find bin lib -type f '(' -name mgcompare -o -name '*.so*' ')' ! -name transport_mpi.so | xargs ldd");
  static const std::regex others(
      R"((ld-linux-x86-64|libc|libm|libmvec|libpthread|libdl|librt|libresolv|libutil|libcublas\w*|libcudnn\w*|libnccl)\.so.*)");
  std::istringstream lines(ended.out);
  int own = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t arrow = line.find(" => ");
    if (arrow == std::string::npos) continue;
    const std::string name = line.substr(line.find_first_not_of(" \t"), arrow - line.find_first_not_of(" \t"));
    const bool is_own = line.find(folder().string(), arrow) != std::string::npos;
    own += is_own ? 1 : 0;
    EXPECT_TRUE(is_own || std::regex_match(name, others)) << line;
  }
  EXPECT_GT(own, 20);
}

TEST_F(Bundle, LeavesOpenMpiToTheMachine) {
  EXPECT_EQ(shell("find 'far away/bundle/lib' -name 'libmpi*' -o -name 'libopen-*'").out, "");
  const std::string searched = text_of(folder() / "lib/machine-libraries");
  EXPECT_EQ(searched.find("libmpi.so") != std::string::npos, fs::exists(folder() / "lib/mgcompare/transport_mpi.so")) << searched;
}

// 30 MB with the modules for GPUs of one generation and for several hosts.
TEST_F(Bundle, IsSmall) {
  const std::string cache = text_of(fs::path(MGCOMPARE_BINARY_DIR) / "CMakeCache.txt");
  if (!std::regex_search(cache, std::regex("\nCMAKE_BUILD_TYPE:[A-Z]+=Release\n"))) GTEST_SKIP() << "only builds of the preset release are small";
  if (fs::exists(folder() / "lib/mgcompare/platform_cuda.so") && !std::regex_search(cache, std::regex("\nCMAKE_CUDA_ARCHITECTURES:[A-Z]+=[^;\n]+\n")))
    GTEST_SKIP() << "this build is for several generations of GPUs";
  std::smatch size;
  ASSERT_TRUE(std::regex_search(made_.err, size, std::regex(R"((\d+) MB as tar\.gz)"))) << made_.err;
  EXPECT_LT(std::stoi(size[1]), 30);
}

TEST_F(Bundle, RunsWhereItIs) {
  const Ended devices = launch("devices");
  EXPECT_EQ(devices.code, 0) << devices.err;
  EXPECT_NE(devices.out.find("cpu:0"), std::string::npos) << devices.out;
  place().write("small.yaml", small_config("scaling: {devices: [cpu:1], batch: 64}\nstrategies: [serial, tower]\n"));
  const Ended compared = launch("small.yaml");
  EXPECT_EQ(compared.code, 0) << compared.err;
  for (const Row& row : place().only_run().rows)
    EXPECT_NE(row.trial.plugin_file.find("far away"), std::string::npos) << row.trial.plugin_file;
  EXPECT_EQ(launch("'far away/bundle/configs/lenet.yaml' --dry-run").code, 0) << "it finds its networks";
  const std::string foreign = std::string(MGCOMPARE_BINARY_DIR) + "/lib/mgcompare/bad_plugins/strategy_misbehave.so";
  EXPECT_EQ(launch("plugins check " + foreign).code, 0) << "a plugin from elsewhere fits";
}

// The packages are made of the same installation (LongPackages).
TEST_F(Bundle, HasEveryFileOfAnInstallation) {
  const Ended ended = shell("cmake --install " MGCOMPARE_BINARY_DIR " --prefix installed >/dev/null && cd installed && find . ! -type d | "
                            "while read -r file; do [ -e \"../far away/bundle/$file\" ] || echo \"$file\"; done && find . ! -type d | wc -l");
  EXPECT_EQ(ended.code, 0) << ended.err;
  std::istringstream lines(ended.out);
  int files = 0;
  lines >> files;
  EXPECT_GT(files, 100) << "missing: " << ended.out;
  for (const char* link : {"configs/lenet.yaml", "docs/installation.md", "README.md", "share/mgcompare/mgcompare.schema.json"})
    EXPECT_TRUE(fs::exists(folder() / link)) << link;
  EXPECT_EQ(launch("mlp --dry-run").code, 0) << "an experiment by its name";
}

// The first line of a config names it.
TEST_F(Bundle, HasTheSchemaWhereConfigsNameIt) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder() / "share/mgcompare/configs")) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string text = text_of(entry.path()), begin = "# yaml-language-server: $schema=";
    ASSERT_EQ(text.find(begin), 0u) << entry.path();
    EXPECT_TRUE(fs::exists(entry.path().parent_path() / text.substr(begin.size(), text.find('\n') - begin.size()))) << entry.path();
  }
}

// Pages of the repository also link to its sources, which are not installed.
TEST_F(Bundle, HasPagesWhoseLinksLeadToFiles) {
  const std::regex link(R"(\]\(([^)#\s]+)[)#])");
  int links = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder() / "share/doc/mgcompare")) {
    if (entry.path().extension() != ".md") continue;
    const std::string text = text_of(entry.path());
    for (std::sregex_iterator found(text.begin(), text.end(), link), end; found != end; ++found) {
      const std::string target = (*found)[1];
      if (target.find(':') != std::string::npos) continue;
      ++links;
      EXPECT_TRUE(fs::exists(entry.path().parent_path() / target)) << target << " in " << entry.path();
    }
  }
  EXPECT_GT(links, 100);
}

TEST_F(Bundle, IsNeverMadeOverSomethingElse) {
  std::ofstream(place().folder() / "file") << "mine";
  const std::string script = std::string(MGCOMPARE_SOURCE_DIR) + "/scripts/bundle ";
  EXPECT_EQ(shell(script + "'far away' --build " + MGCOMPARE_BINARY_DIR).code, 2);
  EXPECT_EQ(shell(script).code, 2);
  EXPECT_EQ(shell(script + "new --build /nowhere").code, 2);
  EXPECT_FALSE(fs::exists(place().folder() / "new"));
}

}  // namespace
}  // namespace mgcompare
