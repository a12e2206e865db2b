// The schema and the documentation of keys come from the table that the reader uses.

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "config/keys.h"
#include "tests/config/workspace.h"

namespace mgcompare {
namespace {

using testing::HasSubstr;

TEST(Schema, HasEveryKeyWithItsHelpRangeAndDefault) {
  const auto schema = nlohmann::json::parse(json_schema());
  EXPECT_EQ(schema["$schema"], "http://json-schema.org/draft-07/schema#");
  EXPECT_EQ(schema["additionalProperties"], false);
  for (const Key& key : keys()) {
    // Each dot leads into a section.
    std::string path(key.name);
    for (std::size_t dot = path.find('.'); dot != path.npos; dot = path.find('.')) path.replace(dot, 1, "/properties/");
    const nlohmann::json::json_pointer place("/properties/" + path);
    ASSERT_TRUE(schema.contains(place)) << key.name;
    EXPECT_THAT(schema[place]["description"].get<std::string>(), HasSubstr(std::string(key.help)));
  }
  const std::function<std::size_t(const nlohmann::json&)> leaves = [&](const nlohmann::json& section) {
    std::size_t count = 0;
    for (const auto& [name, value] : section["properties"].items()) count += value.contains("properties") ? leaves(value) : 1;
    return count;
  };
  EXPECT_EQ(leaves(schema), keys().size());
  EXPECT_EQ(schema["properties"]["data"]["properties"]["crop"]["additionalProperties"], false);
  const auto& epochs = schema["properties"]["epochs"];
  EXPECT_EQ(epochs["default"], 12);
  EXPECT_EQ(epochs["anyOf"][0]["minimum"], 1);
  EXPECT_EQ(schema["properties"]["optimizer"]["properties"]["kind"]["anyOf"][0]["enum"].size(), 4u);
  EXPECT_EQ(schema["definitions"]["layer"]["anyOf"][0]["enum"].size(), layer_descriptions().size());
}

TEST(Schema, TheShippedFileIsUpToDate) {
  std::ifstream file(MGCOMPARE_SOURCE_DIR "/share/mgcompare.schema.json");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(text.str() == json_schema()) << "write it again: mgcompare config --schema > share/mgcompare.schema.json";
}

TEST(Markdown, ThePageIsUpToDate) {
  std::ifstream file(MGCOMPARE_SOURCE_DIR "/docs/config.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(text.str() == markdown_keys()) << "write it again: mgcompare config --markdown > docs/config.md";
}

TEST(Markdown, HasEveryKeyAndLayerOnce) {
  const std::string text = markdown_keys();
  const auto rows = [&](const std::string& start) {
    std::size_t count = 0;
    for (std::size_t at = text.find(start); at != text.npos; at = text.find(start, at + 1)) ++count;
    return count;
  };
  // A layer, or a setting of a layer, may have the same name as a key.
  std::multiset<std::string_view> names;
  for (const Key& key : keys()) names.insert(key.leaf());
  for (const LayerDescription& type : layer_descriptions()) names.insert(type.name());
  for (const LayerKey& key : layer_keys()) names.insert(key.name);
  for (const std::string_view name : names)
    EXPECT_EQ(rows("\n| `" + std::string(name) + "`"), names.count(name)) << name;
  for (const Key& key : keys())
    EXPECT_THAT(text, HasSubstr(std::string(key.help).substr(0, key.help.find('|')))) << key.name;
  EXPECT_THAT(text, HasSubstr("| `train_samples` | a whole number from 0 to 1,000,000,000, samples | `0` |"));
  EXPECT_THAT(text, HasSubstr("| `dense` | Fully connected; flattens its input. | **`units`**, `bias`, "));
}

TEST(Keys, DefaultsFitTheirOwnRanges) {
  // A config that states every default explicitly is accepted.
  const std::string path = testing::TempDir() + "/mgcompare-defaults-" + std::to_string(getpid()) + ".yaml";
  std::ofstream(path) << kGood;
  const std::string yaml = resolved_yaml(read_config(path));
  std::ofstream(path) << yaml;
  EXPECT_NO_THROW(read_config(path)) << yaml;
  std::filesystem::remove(path);
}

TEST(Keys, NamesAreUniqueAndExplained) {
  std::set<std::string_view> names;
  for (const Key& key : keys()) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    EXPECT_TRUE(key.help.ends_with('.')) << key.name;
    EXPECT_LE(std::count(key.name.begin(), key.name.end(), '.'), 2) << key.name;
    EXPECT_EQ(find_key(key.section(), key.leaf()), &key) << key.name;
  }
  const std::string text = explain_keys("");
  EXPECT_THAT(text, HasSubstr("data.train_samples\n    Use only the first N training samples; 0: all.\n"
                              "    a whole number from 0 to 1,000,000,000, samples; default 0\n"));
  EXPECT_THAT(explain_keys("schedule"), testing::StartsWith("schedule.kind\n"));
  EXPECT_THAT(explain_keys("schedule"), testing::Not(HasSubstr("optimizer")));
  EXPECT_THROW(explain_keys("shedule.kind"), Error);
  EXPECT_THAT([] { explain_keys("nonsense"); }, testing::ThrowsMessage<Error>(HasSubstr("lists them all")));
}

// Every word between backticks or in bold in docs/config.md, but those of commands and examples.
TEST(Keys, ExplainsEveryWordOfItsPage) {
  const std::string page = markdown_keys();
  std::set<std::string> words = {"repeat", "times", "inputs", "input", "name", "as", "set", "crop", "optimizer", "adam", "he_normal", "sweep", "npy"};
  const std::regex word("`([a-z][a-z_0-9.]*)`");
  for (std::sregex_iterator found(page.begin(), page.end(), word), end; found != end; ++found) words.insert((*found)[1]);
  EXPECT_GT(words.size(), 90u);
  words.erase("false");  // a default
  for (const std::string& each : words) EXPECT_THAT(explain_keys(each), HasSubstr(each));
  EXPECT_THAT(explain_keys("repeat"), HasSubstr("stands for copies of a block of layers"));
  EXPECT_THAT(explain_keys("conv"), testing::AllOf(HasSubstr("Convolution."), HasSubstr("Height and width of the window"), testing::Not(HasSubstr("lstm  "))));
  EXPECT_THAT(explain_keys("momentum"), testing::AllOf(HasSubstr("optimizer.momentum"), HasSubstr("Share of the running statistics"), HasSubstr("batch_norm")));
  EXPECT_THAT([] { explain_keys("reapet"); }, testing::ThrowsMessage<Error>(HasSubstr("did you mean 'repeat'?")));
}

TEST(Keys, ExplainsEveryLayer) {
  const std::string text = explain_keys("layers");
  for (const LayerDescription& type : layer_descriptions()) EXPECT_THAT(text, HasSubstr(std::string(type.help))) << type.name();
  for (const LayerKey& key : layer_keys()) EXPECT_THAT(text, HasSubstr(std::string(key.help))) << key.name;
  for (const std::string& name : initializers()) EXPECT_THAT(text, HasSubstr(name));
  EXPECT_THAT(text, HasSubstr("needs channels and kernel"));
  EXPECT_THAT(text, HasSubstr("`dense: X` means {units: X}"));
}

TEST(Keys, SuggestsWhatIsNear) {
  const std::vector<std::string> names = {"epochs", "seeds", "batch"};
  EXPECT_EQ(did_you_mean("epoch", names), "did you mean 'epochs'?");
  EXPECT_EQ(did_you_mean("bacth", names), "did you mean 'batch'?");
  EXPECT_EQ(did_you_mean("batch_size", names), "did you mean 'batch'?") << "a name of another framework";
  EXPECT_EQ(did_you_mean("lr", names), "") << "learning_rate is none of the names";
  EXPECT_EQ(did_you_mean("x", names), "");
  EXPECT_EQ(did_you_mean("something", names), "");
}

}  // namespace
}  // namespace mgcompare
