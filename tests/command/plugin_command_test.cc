// `mgcompare plugins`, as a user and a shell use it.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "rig.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

using PluginCommands = CommandTest;

TEST_F(PluginCommands, PluginsAreListedWithOptionsAndRefusals) {
  const std::string bad = std::string(MGCOMPARE_BINARY_DIR) + "/lib/mgcompare/bad_plugins";
  const Ended listed = place_.run({"plugins"}, {{"MGCOMPARE_PLUGIN_PATH", bad + ":" + bad + "/outdated"}});
  EXPECT_EQ(listed.code, 0) << listed.err;
  for (const char* text : {"serial", "average", "misbehave", "refused: ", "sdk=0123456789abcdef"}) {
    EXPECT_NE(listed.out.find(text), std::string::npos) << text << "\n" << listed.out;
  }
  EXPECT_EQ(place_.run({"plugins", "check", bad + "/strategy_misbehave.so", "-q", "--color", "never"}).code, 0);
  const Ended outdated = place_.run({"plugins", "check", bad + "/outdated/strategy_outdated.so"});
  EXPECT_EQ(outdated.code, 1);
  EXPECT_NE(outdated.out.find("built for"), std::string::npos) << outdated.out;
  EXPECT_EQ(place_.run({"plugins", "check", place_.write("no_plugin.yaml", small_config(""))}).code, 1);
  EXPECT_EQ(place_.run({"plugins", "check", "/dev/zero"}).code, 1);
}

TEST_F(PluginCommands, BackendsAreAskedWithTheInterpreterThatIsNamed) {
  const Ended listed = place_.run({"plugins", "--python", "./nothing"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  const std::string reason = "names " + (fs::canonical(place_.folder()) / "nothing").string() + ", which is not a program";
  EXPECT_NE(listed.out.find(reason), std::string::npos) << listed.out;
  const std::string backend = std::string(MGCOMPARE_BINARY_DIR) + "/lib/mgcompare/plugins/pytorch/backend.json";
  const Ended checked = place_.run({"plugins", "check", backend, "--python", "./nothing"});
  EXPECT_EQ(checked.code, 1);
  EXPECT_NE(checked.out.find(reason), std::string::npos) << checked.out;
}

TEST_F(PluginCommands, ABackendIsCheckedByItsFolderItsProgramOrItsManifest) {
  const std::string folder = std::string(MGCOMPARE_SOURCE_DIR) + "/tests/backends/plain";
  for (const std::string& named : {folder, folder + "/backend.py", folder + "/backend.json"}) {
    const Ended checked = place_.run({"plugins", "check", named, "--python", "/usr/bin/python3"});
    EXPECT_EQ(checked.code, 0) << checked.out;
    EXPECT_EQ(checked.out, folder + "/backend.json: fine, backend 'plain' (exact, lockstep)\n");
  }
  fs::create_directories(place_.folder() / "empty");
  const Ended empty = place_.run({"plugins", "check", "empty"});
  EXPECT_EQ(empty.code, 1);
  EXPECT_EQ(empty.out, "empty is a folder without backend.json and with 0 files strategy_*.so: name the .so file of a strategy, or the folder of a backend\n");
  const Ended alone = place_.run({"plugins", "check", place_.write("alone.py", "")});
  EXPECT_EQ(alone.code, 1);
  EXPECT_NE(alone.out.find("alone.py has no backend.json beside it, so it is no backend: write one as docs/writing-a-backend.md shows\n"), std::string::npos)
      << alone.out;
}

TEST_F(PluginCommands, ACheckedPluginTellsItsDevicesAndItsCodeForGpus) {
  const fs::path shipped = fs::path(MGCOMPARE_BINARY_DIR) / "lib/mgcompare/plugins";
  const Ended serial = place_.run({"plugins", "check", (shipped / "strategy_serial.so").string()});
  EXPECT_EQ(serial.code, 0) << serial.out;
  EXPECT_NE(serial.out.find("strategy_serial.so: devices cpu, cuda; no code of its own for GPUs; a strategy with kernels of its own, or "
                            "with arithmetic.h, needs CUDA in mgcompare_add_strategy() to run there\n"), std::string::npos) << serial.out;
  fs::create_directories(place_.folder() / "built");
  fs::copy_file(shipped / "strategy_serial.so", place_.folder() / "built/strategy_serial.so");
  place_.write("built/libother.so", "no plugin");
  EXPECT_EQ(place_.run({"plugins", "check", "built"}).code, 0);
  fs::copy_file(shipped / "strategy_tower.so", place_.folder() / "built/strategy_tower.so");
  const Ended two = place_.run({"plugins", "check", "built"});
  EXPECT_EQ(two.code, 1);
  EXPECT_NE(two.out.find("with 2 files strategy_*.so: name the .so file of a strategy"), std::string::npos) << two.out;
  if (!fs::exists(shipped.parent_path() / "platform_cuda.so")) GTEST_SKIP() << "a build without CUDA";
  const Ended tower = place_.run({"plugins", "check", (shipped / "strategy_tower.so").string()});
  EXPECT_EQ(tower.code, 0) << tower.out;
  EXPECT_NE(tower.out.find("strategy_tower.so: devices cpu, cuda; its own code for GPUs: "), std::string::npos) << tower.out;
}

// Distributions strip the binaries that they install.
TEST_F(PluginCommands, AStrippedPluginIsStillOneAndATruncatedOneIsDamaged) {
  const std::string plugin = std::string(MGCOMPARE_BINARY_DIR) + "/lib/mgcompare/plugins/strategy_serial.so";
  const std::string stripped = (place_.folder() / "stripped.so").string();
  ASSERT_EQ(std::system(("strip -o " + stripped + " " + plugin).c_str()), 0);
  const Ended fine = place_.run({"plugins", "check", stripped});
  EXPECT_EQ(fine.code, 0) << fine.out;
  EXPECT_NE(fine.out.find("'serial'"), std::string::npos) << fine.out;
  fs::resize_file(stripped, fs::file_size(stripped) / 2);
  const Ended damaged = place_.run({"plugins", "check", stripped});
  EXPECT_EQ(damaged.code, 1);
  EXPECT_NE(damaged.out.find("is damaged"), std::string::npos) << damaged.out;
}

TEST_F(PluginCommands, ANewPluginIsAFileAndItsBuild) {
  const Ended ended = place_.run({"plugins", "new", "my_idea"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  const std::string source = text_of(place_.folder() / "my_idea" / "my_idea.cc");
  EXPECT_NE(source.find("MGCOMPARE_STRATEGY(MyIdeaStrategy, \"my_idea\""), std::string::npos) << source;
  EXPECT_TRUE(fs::exists(place_.folder() / "my_idea" / "CMakeLists.txt"));
  EXPECT_EQ(place_.run({"plugins", "new", "my_idea"}).code, 2) << "nothing is overwritten";
  const std::size_t begin = ended.err.find("cmake -S");
  const std::string build = ended.err.substr(begin, ended.err.find('\n') - begin);
  const std::string there = "cd " + place_.folder().string() + " && ";
  ASSERT_EQ(std::system((there + "(" + build + ") >build.log 2>&1").c_str()), 0) << build;
  const Ended checked = place_.run({"plugins", "check", "my_idea/build/strategy_my_idea.so"});
  EXPECT_EQ(checked.code, 0) << checked.out;
  const std::string own = small_config("plugins: my_idea/build/strategy_my_idea.so\nstrategies: [serial, my_idea]\n");
  EXPECT_EQ(place_.run({place_.write("own.yaml", own), "--dry-run"}).code, 0);

  std::string library = text_of(place_.folder() / "my_idea/build/strategy_my_idea.so");
  for (std::size_t at = 0; (at = library.find(";my_idea;", at)) != std::string::npos;) library[at + 3] = ' ';
  const Ended misnamed = place_.run({"plugins", "check", place_.write("misnamed.so", library)});
  EXPECT_EQ(misnamed.out,
            "misnamed.so calls its strategy 'my idea', which no config can name; use letters, digits, _ and -\n");

  std::ofstream(place_.folder() / "my_idea" / "my_idea.cc", std::ios::app)
      << "extern \"C\" void not_written_yet();\nextern \"C\" void (*const use)() = not_written_yet;\n";
  ASSERT_EQ(std::system((there + "cmake --build my_idea/build >build.log 2>&1").c_str()), 0);
  const Ended unlinked = place_.run({"plugins", "check", "my_idea/build/strategy_my_idea.so"});
  EXPECT_EQ(unlinked.code, 1);
  EXPECT_EQ(unlinked.out, "my_idea/build/strategy_my_idea.so cannot be opened: undefined symbol: not_written_yet\n");

  fs::create_symlink("nowhere/at/all", place_.folder() / "blocked");
  const Ended blocked = place_.run({"plugins", "new", "blocked"});
  EXPECT_EQ(blocked.code, 4);
  EXPECT_NE(blocked.err.find("blocked/blocked.cc cannot be written"), std::string::npos) << blocked.err;
}

TEST_F(PluginCommands, ANewPluginDoesNotTakeATakenName) {
  const Ended ended = place_.run({"plugins", "new", "tower"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err.find("mgcompare: the name 'tower' is taken by "), 0u) << ended.err;
  EXPECT_NE(ended.err.find("strategy_tower.so; choose another name"), std::string::npos) << ended.err;
  EXPECT_FALSE(fs::exists(place_.folder() / "tower"));
}

}  // namespace
}  // namespace mgcompare
