// The manual page and the completions of shells: they have what the help has, and each shell reads its own.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "cli/command_description.h"
#include "rig.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::UnorderedElementsAre;

const std::string kDocuments = MGCOMPARE_BINARY_DIR "/documents/";

class Completion : public CommandTest {
 protected:
  Ended shell(const std::string& program, const std::vector<std::string>& words) const {
    std::vector<std::string> all = {"-c", "command -v " + program + " >/dev/null || exit 77; exec \"$0\" \"$@\"", program};
    all.insert(all.end(), words.begin(), words.end());
    return Program(place_.folder(), "/bin/sh", all, {}).wait();
  }
  std::vector<std::string> lines_of(const std::string& text) const {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }
  // What bash offers at the end of this line.
  std::vector<std::string> offers(const std::string& line) const {
    const Ended ended = shell("bash", {"-c", "source \"$0\"; COMP_LINE=$1 COMP_POINT=${#1}; _mgcompare; printf '%s\\n' \"${COMPREPLY[@]}\"",
                                       kDocuments + "mgcompare", line});
    EXPECT_EQ(ended.err, "") << line;
    return lines_of(ended.out);
  }
  // What fish offers there, without its descriptions.
  std::vector<std::string> fish_offers(const std::string& line) const {
    const Ended ended = shell("fish", {"--no-config", "-c", "source " + kDocuments + "mgcompare.fish; complete -C '" + line + "'"});
    std::vector<std::string> offered = lines_of(ended.out);
    for (std::string& each : offered) each.resize(std::min(each.find('\t'), each.size()));
    return offered;
  }
};

// The names of the options that a help explains, which stand before their explanations, and of the general ones in one line.
std::set<std::string> long_options_in(const std::string& help) {
  static const std::regex option("--[a-z][a-z-]*");
  std::set<std::string> found;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  -")) line.resize(std::min(line.find("  ", 3), line.size()));
    else if (!line.starts_with("Also ")) continue;
    found.insert(std::sregex_token_iterator(line.begin(), line.end(), option), {});
  }
  return found;
}

TEST_F(Completion, BashOffersTheOptionsOfEveryCommand) {
  for (const CommandDescription& command : all_commands()) {
    std::vector<std::string> words = command.words;
    words.push_back("--help");
    const std::vector<std::string> offered = offers("mgcompare " + command.name() + " --");
    EXPECT_EQ(std::set<std::string>(offered.begin(), offered.end()), long_options_in(place_.run(words).out)) << command.name();
  }
}

TEST_F(Completion, BashOffersCommandsConfigsAndValues) {
  fs::create_directories(place_.folder() / "mine");
  place_.write("my.yaml", "");
  place_.write("my.txt", "");
  EXPECT_THAT(offers("mgcompare "), IsSupersetOf({"run", "plugins", "lenet", "my.yaml", "mine"}));
  EXPECT_THAT(offers("mgcompare my"), ElementsAre("my.yaml"));
  EXPECT_THAT(offers("mgcompare le"), ElementsAre("lenet"));
  EXPECT_THAT(offers("mgcompare --set epochs=2 -q le"), ElementsAre("lenet"));
  EXPECT_THAT(offers("mgcompare verify le"), ElementsAre("lenet"));
  EXPECT_THAT(offers("mgcompare report m"), ElementsAre("mine"));
  EXPECT_THAT(offers("mgcompare lenet --color "), ElementsAre("auto", "always", "never"));
  EXPECT_THAT(offers("mgcompare report --objective thr"), ElementsAre("throughput"));
  EXPECT_THAT(offers("mgcompare lenet --set optimizer.k"), ElementsAre("optimizer.kind="));
  // bash keeps what stands before the =.
  EXPECT_THAT(offers("mgcompare lenet --set optimizer.kind=ada"), ElementsAre("adam", "adagrad", "adadelta"));
  EXPECT_THAT(offers("mgcompare lenet --only devices=c"), ElementsAre("cpu:", "cuda:"));
  EXPECT_THAT(offers("mgcompare plugins "), ElementsAre("check", "new"));
  EXPECT_THAT(offers("mgcompare plugins new mine --c"), ElementsAre("--color", "--cuda"));
  EXPECT_THAT(offers("mgcompare config bat"), Contains("batch_norm"));
  EXPECT_THAT(offers("mgcompare completions "), ElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(offers("mgcompare --v"), ElementsAre("--verbose", "--version"));
  EXPECT_THAT(offers("mgcompare lenet --seed "), ElementsAre(""));
}

TEST_F(Completion, FishOffersThem) {
  if (shell("fish", {"--version"}).code == 77) GTEST_SKIP() << "fish is not installed";
  EXPECT_EQ(shell("fish", {"--no-config", "--no-execute", kDocuments + "mgcompare.fish"}).err, "");
  EXPECT_THAT(fish_offers("mgcompare le"), Contains("lenet"));
  EXPECT_THAT(fish_offers("mgcompare plu"), Contains("plugins"));
  EXPECT_THAT(fish_offers("mgcompare lenet --dry"), ElementsAre("--dry-run"));
  EXPECT_THAT(fish_offers("mgcompare report --objective thr"), ElementsAre("throughput"));
  EXPECT_THAT(fish_offers("mgcompare plugins new mine --cu"), ElementsAre("--cuda"));
  EXPECT_THAT(fish_offers("mgcompare lenet --set optimizer.kind=ada"),
              UnorderedElementsAre("optimizer.kind=adam", "optimizer.kind=adagrad", "optimizer.kind=adadelta"));
}

// A terminal of its own, in which tab is pressed: the answer is on the screen.
TEST_F(Completion, ZshOffersThem) {
  if (shell("zsh", {"--version"}).code == 77) GTEST_SKIP() << "zsh is not installed";
  EXPECT_EQ(shell("zsh", {"-n", kDocuments + "_mgcompare"}).err, "");
  // The prompt says that the line editor reads; neither it nor END is in the echo of the words that make them.
  place_.write("press.zsh", R"(zmodload zsh/zpty || exit 1
zpty shell TERM=dumb zsh -f -i
zpty -w shell "mgcompare() :; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -d $PWD/dump; PROMPT='RE%{%}ADY '"
zpty -r shell seen '*READY *'
zpty -w -n shell $'mgcompare lenet --dry\t\n'
zpty -w -n shell $'mgcompare report --objective thr\t\n'
zpty -w -n shell $'mgcompare plugins new mine --cu\t\n'
zpty -w -n shell $'mgcompare verify le\t\n'
zpty -w -n shell $'mgcompare lenet --set optimizer.kind=adad\t\n'
zpty -w -n shell $'print -r E""ND\n'
zpty -r shell seen '*END*'
print -r -- $seen
)");
  const Ended ended = shell("zsh", {"-f", "press.zsh", kDocuments});
  for (const char* completed : {"--dry-run", "--objective throughput", "mine --cuda", "verify lenet", "optimizer.kind=adadelta"})
    EXPECT_THAT(ended.out, HasSubstr(completed)) << ended.err;
}

TEST_F(Completion, ThePageAndTheFilesAreThoseOfTheProgram) {
  EXPECT_EQ(text_of(kDocuments + "mgcompare.1"), place_.run({"help", "--man"}).out);
  EXPECT_EQ(text_of(kDocuments + "mgcompare"), place_.run({"completions", "bash"}).out);
  EXPECT_EQ(text_of(kDocuments + "_mgcompare"), place_.run({"completions", "zsh"}).out);
  EXPECT_EQ(text_of(kDocuments + "mgcompare.fish"), place_.run({"completions", "fish"}).out);
  EXPECT_EQ(place_.run({"completions", "tcsh"}).code, 2);
}

TEST_F(Completion, ThePageHasEveryOption) {
  std::string page = text_of(kDocuments + "mgcompare.1");
  page = std::regex_replace(page, std::regex(R"(\\-)"), "-");
  for (const CommandDescription& command : all_commands()) {
    EXPECT_THAT(page, HasSubstr("\n.SS " + command.name()));
    for (const OptionDescription& option : command.options) EXPECT_THAT(page, HasSubstr(option.is_positional() ? option.value : option.long_name));
  }
  if (shell("man", {"--version"}).code == 77) GTEST_SKIP() << "man is not installed";
  const Ended shown = shell("man", {"--warnings", "-E", "UTF-8", "-l", kDocuments + "mgcompare.1"});
  EXPECT_EQ(shown.code, 0);
  EXPECT_EQ(shown.err, "");
  EXPECT_THAT(shown.out, AllOf(HasSubstr("EXIT STATUS"), HasSubstr("--until-decided")));
}

}  // namespace
}  // namespace mgcompare
