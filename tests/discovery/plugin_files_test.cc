// Plugin files are foreign bytes: damaged, hostile or no plugins at all. The program reads them without opening them.

#include "discovery/plugin_files.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "discovery/plugin_image.h"
#include "tests/discovery/dynamic_entries.h"
#include "tests/processor_seconds.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr double kLimitSeconds = 0.2;

std::string bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

long peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

class PluginFiles : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(tower_)) GTEST_SKIP() << tower_ << " is not built";
    std::string pattern = (fs::temp_directory_path() / "mgcompareXXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { if (!folder_.empty()) fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& bytes) const {
    const fs::path file = folder_ / name;
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    return file.string();
  }
  std::string copy(const std::string& name) const {
    fs::copy_file(tower_, folder_ / name);
    return (folder_ / name).string();
  }
  // Inspects a file within the limit.
  static PluginSummary inspected(const std::string& file) {
    const double begin = processor_seconds();
    PluginSummary summary = inspect_plugin(file);
    EXPECT_LT(processor_seconds() - begin, kLimitSeconds) << file;
    return summary;
  }
  static std::string problem_of(const std::string& file) { return inspected(file).problem; }

  const fs::path tower_ = fs::path(MGCOMPARE_BINARY_DIR) / "lib/mgcompare/plugins/strategy_tower.so";
  fs::path folder_;
};

class LongPluginFiles : public PluginFiles {};

// One damage of each kind that disks, copies and attackers cause.
std::string mutant(const std::string& whole, std::mt19937_64& random) {
  std::string bytes = whole;
  const auto anywhere = [&](std::size_t below) { return static_cast<std::size_t>(random() % below); };
  const auto extreme = [&] {
    constexpr std::uint64_t kValues[] = {0, 1, 0x7f, 0x40, 0xff, 0x7fffffff, 0xffffffff, 0x7fffffffffffffff, ~0ull, ~0ull - 7};
    return kValues[anywhere(std::size(kValues))];
  };
  // The tables of a library are in its first and last bytes, or where an address of the first bytes points.
  const auto in_tables = [&] { return random() % 2 == 0 ? anywhere(1024) : bytes.size() - 1 - anywhere(4096); };
  switch (random() % 6) {
    case 0: bytes[anywhere(bytes.size())] ^= static_cast<char>(1u << anywhere(8)); break;
    case 1: for (int i = 0; i < 16; ++i) bytes[in_tables()] = static_cast<char>(random()); break;
    case 2: {
      const std::uint64_t value = extreme();
      std::memcpy(&bytes[std::min(in_tables() / 8 * 8, bytes.size() - 8)], &value, 8);
      break;
    }
    case 3: bytes.resize(anywhere(bytes.size())); break;
    case 4: bytes.erase(anywhere(bytes.size()), 1 + anywhere(64)); break;
    default: {
      const std::size_t begin = anywhere(bytes.size());
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(begin), std::min<std::size_t>(4096, bytes.size() - begin),
                  static_cast<char>(extreme()));
    }
  }
  return bytes;
}

void inspect_mutants(const fs::path& plugin, const fs::path& file, std::uint64_t seed, int count) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const std::string whole = bytes_of(plugin);
  std::mt19937_64 random(seed);
  const long before = peak_kilobytes();
  int refused = 0;
  for (int i = 0; i < count; ++i) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << mutant(whole, random);
    const double begin = processor_seconds();
    const PluginSummary summary = inspect_plugin(file.string());
    ASSERT_LT(processor_seconds() - begin, kLimitSeconds) << i;
    refused += summary.problem.empty() ? 0 : 1;
    if (!summary.problem.empty()) {
      ASSERT_EQ(summary.problem.find(file.string()), 0u) << summary.problem;
    }
  }
  EXPECT_LT(peak_kilobytes() - before, 64 << 10) << "memory is bounded by the file's size";
  EXPECT_GT(refused, count / 10);
  EXPECT_LT(refused, count) << "damage outside of the tables is found by opening the plugin in a worker";
}

TEST_F(PluginFiles, MutantsAreReadInNoTime) { inspect_mutants(tower_, folder_ / "strategy_mutant.so", 1, 300); }
TEST_F(LongPluginFiles, TenThousandMutantsAreReadInNoTime) {
  inspect_mutants(tower_, folder_ / "strategy_mutant.so", std::random_device()(), 10000);
}

// Readers that trust a library's tables read beyond them.
TEST_F(PluginFiles, EveryByteOfTheHeadersMayHaveAnyValue) {
  const std::string whole = bytes_of(tower_);
  for (std::size_t at = 0; at < 64 + 16 * 56; ++at) {
    for (const char value : {'\0', '\x40', '\x7f', '\xff'}) {
      std::string bytes = whole;
      bytes[at] = value;
      try {
        check_library(bytes);
      } catch (const Error& error) {
        EXPECT_STRNE(error.what(), "");
      }
    }
  }
}

TEST_F(PluginFiles, AnUnterminatedTableOfStringsIsDamage) {
  std::string bytes = bytes_of(tower_);
  std::uint64_t size = 0;
  ASSERT_EQ(change_dynamic_entries(bytes, DT_STRSZ, [&](std::uint64_t& value) { size = value; }), 1);
  for (const std::uint64_t other : {size - 1, std::uint64_t{1} << 40, ~std::uint64_t{0}, std::uint64_t{0}}) {
    change_dynamic_entries(bytes, DT_STRSZ, [&](std::uint64_t& value) { value = other; });
    EXPECT_THAT(problem_of(write("strategy_cut.so", bytes)), HasSubstr("strategy_cut.so is damaged"));
  }
}

TEST_F(PluginFiles, MarksWithoutEndAreSearchedOnce) {
  const std::string whole = bytes_of(tower_);
  for (const std::string& mark : {std::string("mgcompare-plugin;"), std::string("mgcompare-plugin;a;b;c"), std::string("mmmmmmmmmmmmmmmm"),
                                  std::string("mgcompare-plugin;\0", 18), std::string("mgcompare-plugin;a;b;c\0", 23)}) {
    std::string bytes = whole;
    while (bytes.size() < whole.size() + (4u << 20)) bytes += mark;
    inspected(write("strategy_marks.so", bytes));
  }
}

TEST_F(PluginFiles, WhatIsNoPluginIsASentence) {
  const std::string whole = bytes_of(tower_);
  std::string random(10000, '\0');
  std::mt19937_64 numbers(1);
  for (char& byte : random) byte = static_cast<char>(numbers());
  std::string other_class = whole, other_order = whole, other_machine = whole, object = whole, other_need = whole;
  other_class[EI_CLASS] = ELFCLASS32;
  other_order[EI_DATA] = ELFDATA2MSB;
  other_machine[18] ^= 1;
  object[16] = ET_REL;
  EXPECT_GT(change_dynamic_entries(other_need, DT_NEEDED, [&](std::uint64_t& name) { name = whole.size(); }), 0);
  const std::vector<std::pair<std::string, std::string>> files = {
      {write("text.so", "no library"), "is not a shared library"},
      {write("empty.so", ""), "is not a shared library"},
      {write("random.so", random), "is not a shared library"},
      {write("magic.so", whole.substr(0, 4)), "is damaged"},
      {write("header.so", whole.substr(0, 64)), "is damaged"},
      {write("half.so", whole.substr(0, whole.size() / 2)), "is damaged"},
      {write("class.so", other_class), "another kind of processor"},
      {write("order.so", other_order), "another kind of processor"},
      {write("machine.so", other_machine), "another kind of processor"},
      {write("object.so", object), "is not a shared library"},
      {write("needed.so", other_need), "is damaged"},
      {folder_.string(), "is not a regular file"},
      {"/dev/zero", "is not a regular file"},
      {"/proc/self/maps", "is not a shared library"},
      {(folder_ / "none.so").string(), "does not exist"},
      {"/proc/self/exe", "does not export mgcompare_plugin"},
  };
  for (const auto& [file, problem] : files) EXPECT_THAT(problem_of(file), HasSubstr(problem)) << file;
  const fs::path pipe = folder_ / "pipe.so";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(problem_of(pipe.string()), HasSubstr("is not a regular file"));
  const fs::path huge = folder_ / "huge.so";
  std::ofstream(huge) << whole;
  fs::resize_file(huge, kPluginLimit + 1);
  EXPECT_THAT(problem_of(huge.string()), HasSubstr("is larger than 256 MiB"));
  for (const char* zlib : {"/usr/lib/x86_64-linux-gnu/libz.so.1", "/usr/lib/aarch64-linux-gnu/libz.so.1", "/usr/lib64/libz.so.1"}) {
    if (fs::exists(zlib)) { EXPECT_THAT(problem_of(zlib), HasSubstr("is a shared library but not a plugin")); }
  }
}

TEST_F(PluginFiles, AFileWithoutARecordIsNamedAfterItself) {
  EXPECT_EQ(inspected(write("strategy_mine.so", "text")).name, "mine");
  EXPECT_EQ(inspected(write("mine.so", "text")).name, "mine");
  EXPECT_EQ(inspected(write("not a name.so", "text")).name, "");
}

TEST_F(PluginFiles, HostileNamesAreMadeHarmless) {
  const std::string problem = problem_of(write("\xe2\x80\xae\x1b[31m.so", "text"));
  EXPECT_EQ(problem.find('\x1b'), std::string::npos);
  EXPECT_EQ(problem.find("\xe2\x80\xae"), std::string::npos);
}

TEST_F(PluginFiles, ALinkToAPluginIsAPlugin) {
  fs::create_symlink(tower_, folder_ / "link.so");
  EXPECT_EQ(problem_of((folder_ / "link.so").string()), "");
}

TEST_F(PluginFiles, WhatEveryUserCanWriteIsRefused) {
  const std::string file = copy("strategy_tower.so");
  EXPECT_EQ(problem_of(file), "");
  chmod(file.c_str(), 0666);
  EXPECT_THAT(problem_of(file), HasSubstr("is not used, because every user of this machine can change it; run: chmod o-w " + file));
  chmod(file.c_str(), 0664);
  EXPECT_EQ(problem_of(file), "") << "a group is chosen";
  chmod(folder_.c_str(), 0777);
  EXPECT_THAT(problem_of(file), HasSubstr("run: chmod o-w " + folder_.string()));
  chmod(folder_.c_str(), 01777);
  EXPECT_EQ(problem_of(file), "") << "only its owner can replace it";
  const auto searched = [&] {
    for (const PluginSummary& plugin : find_plugins({folder_.string()}))
      if (plugin.file == fs::canonical(file).string()) return plugin.problem;
    return std::string("not found");
  };
  EXPECT_THAT(searched(), HasSubstr("can add plugins to its folder"));
  chmod(folder_.c_str(), 0700);
  // The shipped one comes first.
  EXPECT_THAT(searched(), HasSubstr("the name 'tower' is taken"));
}

TEST_F(PluginFiles, ALibraryOfAPluginThatEveryUserCanWriteIsRefused) {
  const fs::path built = fs::path(MGCOMPARE_BINARY_DIR) / "lib/mgcompare/bad_plugins/companion1";
  for (const char* name : {"strategy_companion1.so", "libcompanion_part.so"}) fs::copy_file(built / name, folder_ / name);
  const std::string plugin = (folder_ / "strategy_companion1.so").string();
  EXPECT_EQ(inspect_plugin(plugin).problem, "");
  ASSERT_EQ(chmod((folder_ / "libcompanion_part.so").c_str(), 0666), 0);
  EXPECT_THAT(inspect_plugin(plugin).problem,
              HasSubstr("libcompanion_part.so, which is not used, because every user of this machine can change it; run: chmod o-w "));
}

TEST_F(PluginFiles, ALinkDoesNotHideWhoCanWrite) {
  const fs::path open = folder_ / "open";
  fs::create_directory(open);
  fs::copy_file(tower_, open / "strategy_tower.so");
  chmod(open.c_str(), 0777);
  fs::create_symlink(open / "strategy_tower.so", folder_ / "link.so");
  EXPECT_THAT(problem_of((folder_ / "link.so").string()), HasSubstr("can replace it; run: chmod o-w " + open.string()));
}

// Who can rename a folder on the way can put another in its place.
TEST_F(PluginFiles, AFolderOnTheWayCountsToo) {
  const fs::path open = folder_ / "open", below = open / "closed" / "plugins";
  fs::create_directories(below);
  const std::string file = (below / "strategy_tower.so").string();
  fs::copy_file(tower_, file);
  EXPECT_EQ(problem_of(file), "");
  chmod(open.c_str(), 0777);
  EXPECT_THAT(problem_of(file), HasSubstr("can replace it; run: chmod o-w " + open.string()));
  chmod(open.c_str(), 01777);
  EXPECT_EQ(problem_of(file), "");
}

}  // namespace
}  // namespace mgcompare
