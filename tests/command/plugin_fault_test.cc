// Damaged and foreign plugin files, as a user meets them: a sentence where they matter, and nothing where they do not.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "rig.h"
#include "tests/discovery/dynamic_entries.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using Variables = std::map<std::string, std::string>;

class PluginFault : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    if (IsSkipped()) return;
    fs::create_directory(mine());
  }
  fs::path mine() const { return place_.folder() / "mine"; }
  fs::path seen() const { return place_.folder() / "seen"; }
  Variables variables() const {
    return {{"MGCOMPARE_PLUGIN_PATH", mine().string()}, {"MGCOMPARE_TEST_WITNESS", seen().string()}};
  }
  static std::string witness() {
    return text_of(fs::path(MGCOMPARE_BINARY_DIR) / "lib/mgcompare/bad_plugins/strategy_witness.so");
  }
  void write(const std::string& bytes) const { std::ofstream(mine() / "strategy_witness.so", std::ios::binary) << bytes; }
  std::string config(const std::string& strategies) const {
    return place_.write("x.yaml", small_config("scaling: {devices: [cpu:1], batch: 64}\nstrategies: " + strategies + "\n"));
  }
  Ended plan(const std::string& strategies) const { return place_.run({config(strategies), "--dry-run"}, variables()); }
};

// Replaces `from` by text of the same length, wherever the library has it.
std::string with(std::string library, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = library.find(from, at)) != std::string::npos; at += to.size()) library.replace(at, to.size(), to);
  return library;
}

// Sends the loader to an address without memory when it relocates the library.
std::string with_wild_relocations(std::string library) {
  change_dynamic_entries(library, DT_RELA, [](std::uint64_t& address) { address = 0x7000'0000'0000; });
  return library;
}

const char* const kImpossible = "/lib/mgcompare/bad_plugins/strategy_impossible.so";

TEST_F(PluginFault, AnImpossibleOptionIsRefusedWithPluginAndOption) {
  const std::string file = MGCOMPARE_BINARY_DIR + std::string(kImpossible);
  const std::string sentence = file + " declares the option 'every' with the default 0, which is not in its range: 1 to 9; correct it, and build the plugin again";
  const Ended checked = place_.run({"plugins", "check", file});
  EXPECT_EQ(checked.code, 1);
  EXPECT_EQ(checked.out, sentence + "\n");
  fs::copy_file(file, mine() / "strategy_impossible.so");
  const Ended run = place_.run({config("[serial, impossible]")}, variables());
  EXPECT_EQ(run.code, 4) << run.err;
  EXPECT_THAT(run.err, HasSubstr("strategy 'impossible': " + (fs::canonical(mine()) / "strategy_impossible.so").string() +
                                 " declares the option 'every' with the default 0"));
  const Ended verified = place_.run({"verify", "--quick", config("[serial, impossible]"), "--only", "as=impossible"}, variables());
  EXPECT_EQ(verified.code, 1) << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("declares the option 'every' with the default 0"));
}

// For each of its rows it would take the whole limit again.
TEST_F(PluginFault, OneThatBlocksWhenItIsOpenedIsOpenedOnce) {
  fs::copy_file(MGCOMPARE_BINARY_DIR + std::string(kImpossible), mine() / "strategy_impossible.so");
  Variables more = variables();
  more.emplace("MGCOMPARE_TEST_OPENED", seen().string());
  const std::string rows = "[{impossible: {as: one}}, {impossible: {as: two}}, serial]\nvariants: [{name: adam, set: {optimizer.kind: adam}}]";
  const Ended ended = place_.run({"verify", "--quick", config(rows), "--only", "as=one,as=two", "--set", "measure.progress_limit=0.5"}, more);
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_EQ(text_of(seen()), "opened\n");
  for (const char* label : {"one", "two"})
    EXPECT_THAT(ended.out, ::testing::ContainsRegex(std::string("FAILED +") + label + " [^\n]*runs: no progress for 0.5 s before the trial began"));
}

TEST_F(PluginFault, AFolderOfTheVariableThatDoesNotExistIsAWarning) {
  const Variables nowhere = {{"MGCOMPARE_PLUGIN_PATH", "nowhere:" + mine().string()}};
  for (const std::vector<std::string>& words : {std::vector<std::string>{config("[serial]"), "--dry-run"}, {"plugins"}}) {
    const Ended ended = place_.run(words, nowhere);
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("warning: MGCOMPARE_PLUGIN_PATH names nowhere, which does not exist; correct it, or remove it\n"));
  }
  EXPECT_THAT(plan("[serial]").err, Not(HasSubstr("MGCOMPARE_PLUGIN_PATH")));
}

TEST_F(PluginFault, AnotherContractIsRefusedBeforeItIsOpened) {
  const std::string mark = "mgcompare-plugin;sdk=", library = witness();
  const std::string contract = library.substr(library.find(mark) + 17, 60);
  const std::string hash = contract.substr(4, 16);
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"sdk=" + hash, "sdk=0123456789abcdef"}, {",abi=1", ",abi=2"}, {"stdlib=libstdc++", "stdlib=libstdd++"}}) {
    write(with(library, from, to));
    const Ended ended = plan("[serial, witness]");
    EXPECT_EQ(ended.code, 4) << ended.err;
    EXPECT_EQ(ended.err.find("x.yaml:"), 0u) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("strategy 'witness' cannot be used: " + (mine() / "strategy_witness.so").string()));
    EXPECT_THAT(ended.err, HasSubstr(to));
    EXPECT_THAT(ended.err, HasSubstr("this program is sdk=" + hash));
    EXPECT_EQ(place_.run({"plugins"}, variables()).code, 0);
    EXPECT_FALSE(fs::exists(seen())) << "the constructor ran";
  }
  write(library);
  EXPECT_EQ(plan("[serial, witness]").code, 0);
  EXPECT_TRUE(fs::exists(seen())) << "the constructor would have run";
}

TEST_F(PluginFault, ADamagedFileMattersWhereItIsNamed) {
  const std::string library = witness();
  for (const std::string& bytes : {library.substr(0, library.size() / 2), std::string("text"), std::string()}) {
    write(bytes);
    const Ended other = plan("[serial]");
    EXPECT_EQ(other.code, 0) << other.err;
    EXPECT_THAT(other.out + other.err, Not(HasSubstr("witness")));
    const Ended named = plan("[serial, witness]");
    EXPECT_EQ(named.code, 4) << named.err;
    EXPECT_THAT(named.err, HasSubstr((mine() / "strategy_witness.so").string() + " is "));
    EXPECT_THAT(place_.run({"plugins"}, variables()).out, HasSubstr("refused: " + (mine() / "strategy_witness.so").string()));
  }
}

TEST_F(PluginFault, AFileThatCrashesTheLoaderIsASentenceWithItsName) {
  write(with_wild_relocations(witness()));
  const std::string file = (mine() / "strategy_witness.so").string();
  const Ended named = plan("[serial, witness]");
  EXPECT_EQ(named.code, 4) << named.err;
  EXPECT_THAT(named.err, HasSubstr("strategy 'witness' crashed"));
  EXPECT_THAT(named.err, HasSubstr(file));
  EXPECT_EQ(plan("[serial]").code, 0);
  const Ended listed = place_.run({"plugins"}, variables());
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("cannot be probed: "));
  EXPECT_THAT(listed.out, HasSubstr("tower")) << "the others are still listed";
  const Ended checked = place_.run({"plugins", "check", file}, variables());
  EXPECT_EQ(checked.code, 1);
  EXPECT_EQ(checked.out, file + ": its constructor crashes: SIGSEGV before the trial began (crashed)\n");
}

TEST_F(PluginFault, AMissingLibraryIsNamedByTheLoader) {
  write(with(witness(), "libstdc++.so.6", "libabsent.so.6"));
  const std::string file = (mine() / "strategy_witness.so").string();
  const Ended named = plan("[serial, witness]");
  EXPECT_EQ(named.code, 4) << named.err;
  EXPECT_THAT(named.err, HasSubstr(file + " cannot be opened: libabsent.so.6: cannot open shared object file"));
  EXPECT_EQ(plan("[serial]").code, 0);
  const Ended checked = place_.run({"plugins", "check", file}, variables());
  EXPECT_EQ(checked.code, 1);
  EXPECT_EQ(checked.out.find(file), 0u) << checked.out;
  EXPECT_EQ(checked.out.rfind(file), 0u) << checked.out;
  EXPECT_THAT(checked.out, HasSubstr("libabsent.so.6"));
}

// Before the first trial, when the program asks for traits and options.
TEST_F(PluginFault, AConstructorThatTakesAllMemoryIsASentenceWithItsName) {
  const std::string hog = place_.write("hog.yaml", small_config("scaling: {devices: [cpu:1], batch: 64}\n"
                                                                "strategies: [serial, {misbehave: {how: hog, where: construct}}]\n"));
  const Ended ended = place_.run({hog, "--dry-run"}, {{"ASAN_OPTIONS", "allocator_may_return_null=1"}, {"TSAN_OPTIONS", "allocator_may_return_null=1"}});
  EXPECT_EQ(ended.code, 4) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("strategy 'misbehave' crashed when it was created from its options: the host gave no more memory, free "));
  EXPECT_THAT(ended.err, HasSubstr("; a plugin may use 2 GiB while it is asked for its options (out of memory), in "));
  EXPECT_THAT(ended.err, HasSubstr("/strategy_misbehave.so"));
}

TEST_F(PluginFault, AFileThatIsDamagedAfterTheProbeIsARow) {
  write(witness());
  const std::string file = (mine() / "strategy_witness.so").string();
  // The plugin of the first trials damages the file of another.
  const Ended ended = place_.run_by_shell(
      "export MGCOMPARE_PLUGIN_PATH=" + mine().string() + R"(; "$0" "$@" 2>err & id=$!; )" +
          "while ! grep -q 'rough estimate' err; do sleep 0.01; done; printf damaged > damaged; mv damaged " + file + "; wait $id; code=$?; cat err >&2; exit $code",
      {config("[serial, witness]"), "--set", "isolation=trial", "--set", "seeds=[1,2,3]"});
  EXPECT_EQ(ended.code, 3) << ended.err;
  int faulty = 0;
  for (const Row& row : place_.only_run().rows) {
    if (row.result.status == TrialStatus::done) continue;
    ++faulty;
    EXPECT_EQ(row.trial.strategy.name, "witness");
    EXPECT_THAT(row.result.cause, HasSubstr(file + " has changed since the run was planned"));
  }
  EXPECT_GT(faulty, 0);
}

TEST_F(PluginFault, TextsOfPluginsAreMadeHarmless) {
  write(witness());
  const Ended listed = place_.run({"plugins"}, variables());
  const Ended refused = plan("[serial, {witness: {hostile: true}}]");
  EXPECT_THAT(refused.err, HasSubstr("reversed"));
  EXPECT_THAT(listed.out, HasSubstr("help"));
  const Ended named = place_.run({"plugins", "check", "\xe2\x80\xae.so"});
  for (const std::string& text : {listed.out, refused.err, named.out}) {
    EXPECT_THAT(text, Not(HasSubstr("\xe2\x80\xae")));
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  }
}

}  // namespace
}  // namespace mgcompare
