// What a backend sends is foreign text: everything that is not a message of the protocol is a sentence about it.

#include "backends/messages.h"

#include <gmock/gmock.h>

#include <cmath>

#include "backends/description.h"
#include "results/cause.h"

namespace mgcompare {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

std::string problem_of(const std::string& bytes, int id = 1) {
  try {
    BackendReader reader;
    reader.feed(bytes);
    return reader.next(id) ? "a message" : "nothing";
  } catch (const WrongMessage& wrong) {
    return wrong.what();
  }
}

template <class F>
std::string refusal_of(const F& f) {
  try {
    f();
  } catch (const WrongMessage& wrong) {
    return wrong.what();
  }
  return "accepted";
}

TEST(BackendReader, TakesMessagesFromAnyPieces) {
  const std::string bytes = "{\"type\":\"ready\",\"id\":2}\n{\"type\":\"ended\",\"id\":2,\"new\":[1]}\n";
  BackendReader reader;
  std::vector<std::string> types;
  for (const char byte : bytes) {
    reader.feed({&byte, 1});
    while (const auto message = reader.next(2)) types.push_back(message->type);
  }
  EXPECT_THAT(types, testing::ElementsAre("ready", "ended"));
}

TEST(BackendReader, RefusesEverythingElse) {
  EXPECT_EQ(problem_of("{\"type\":\"ready\""), "nothing");
  EXPECT_THAT(problem_of("Epoch 1/3\n"), HasSubstr("sent 'Epoch 1/3', which is not a JSON object"));
  EXPECT_THAT(problem_of("\n"), HasSubstr("not a JSON object"));
  EXPECT_THAT(problem_of("\xff\xfe\n"), HasSubstr("not a JSON object"));
  EXPECT_THAT(problem_of("[]\n"), HasSubstr("not a JSON object"));
  EXPECT_THAT(problem_of("{\"id\":1}\n"), HasSubstr("without a `type`"));
  EXPECT_THAT(problem_of("{\"type\":7,\"id\":1}\n"), HasSubstr("without a `type`"));
  EXPECT_THAT(problem_of("{\"type\":\"a\"}\n"), HasSubstr("the id (none), but the request has 1"));
  EXPECT_THAT(problem_of("{\"type\":\"a\",\"id\":2}\n"), HasSubstr("the id '2', but the request has 1"));
  EXPECT_THAT(problem_of("{\"type\":\"a\",\"id\":1.0}\n"), HasSubstr("but the request has 1"));
  EXPECT_THAT(problem_of("{\"type\":\"a\",\"id\":1,\"x\":" + std::string(100, '[') + std::string(100, ']') + "}\n"), HasSubstr("levels"));
  EXPECT_THAT(problem_of(std::string(kLineLimit + 1, 'x')), HasSubstr("a line of more than 1048576 bytes"));
  EXPECT_EQ(problem_of("{\"type\":\"a\",\"id\":1}\n"), "a message");
}

TEST(BackendMessages, FieldsHaveTypesAndRanges) {
  const Json good = {{"type", "epoch_end"}, {"seconds", 0.5}, {"samples", 10}, {"steps", 2}, {"loss", 1.5}};
  EXPECT_EQ(epoch_report_in(good).samples, 10u);
  const auto with = [&](const char* key, const Json& value) {
    Json json = good;
    json[key] = value;
    return refusal_of([&] { epoch_report_in(json); });
  };
  EXPECT_THAT(with("seconds", -1), HasSubstr("sent 'epoch_end' with a `seconds` that is not a number from 0"));
  EXPECT_THAT(with("seconds", "1"), HasSubstr("`seconds`"));
  EXPECT_THAT(with("samples", -1), HasSubstr("`samples`"));
  EXPECT_THAT(with("samples", 1.5), HasSubstr("`samples`"));
  EXPECT_THAT(with("steps", std::uint64_t{1} << 60), HasSubstr("`steps`"));
  EXPECT_THAT(with("loss", -1.0), HasSubstr("`loss`"));
  EXPECT_EQ(with("loss", -1e-7), "accepted") << "by rounding";
  Json without = good;
  without.erase("loss");
  EXPECT_THAT(refusal_of([&] { epoch_report_in(without); }), HasSubstr("without `loss`"));
  without["loss"] = nullptr;
  EXPECT_TRUE(std::isnan(epoch_report_in(without).loss));
}

TEST(BackendMessages, AnErrorEndsWithItsStatus) {
  const auto status_of = [](const char* kind) {
    try {
      throw_reported({{"type", "error"}, {"kind", kind}, {"text", "why"}});
    } catch (...) {
      const Cause cause = cause_of(std::current_exception());
      EXPECT_THAT(cause.sentence, HasSubstr("why"));
      return cause.status;
    }
  };
  EXPECT_EQ(status_of("failed"), TrialStatus::failed);
  EXPECT_EQ(status_of("diverged"), TrialStatus::diverged);
  EXPECT_EQ(status_of("out_of_memory"), TrialStatus::out_of_memory);
  EXPECT_EQ(status_of("unavailable"), TrialStatus::unavailable);
  EXPECT_EQ(status_of("other"), TrialStatus::failed);
}

Json description() {
  return {{"type", "description"}, {"protocol", 1}, {"name", "plain"}, {"versions", {{"plain", "1"}}}, {"promise", "exact"},
          {"least_devices", 1}, {"most_devices", 2}, {"device_kinds", {"cpu", "abacus"}}, {"layers", {"dense"}}, {"optimizers", {"sgd"}},
          {"precisions", {{"cpu", {"fp32"}}}},
          {"options",
           {{{"key", "mode"}, {"type", "choice"}, {"default", "a"}, {"values", {"a", "b"}}, {"help", "h"}},
            {{"key", "many"}, {"type", "integer"}, {"default", 3}, {"least", 1}, {"most", 9}, {"help", "h"}},
            {{"key", "rate"}, {"type", "number"}, {"default", 0.5}, {"most", 1}, {"help", "h"}},
            {{"key", "fast"}, {"type", "flag"}, {"default", false}, {"help", "h"}}}},
          {"problems", {{{"key", "mode"}, {"text", "no b here"}, {"kind", "unavailable"}}}}};
}

OptionConfig option(const char* key, const char* value, bool quoted = false) { return {key, value, quoted, {}}; }

TEST(BackendDescription, ChecksTheOptionsOfARow) {
  const BackendDescription read = description_in(description(), "plain");
  EXPECT_EQ(read.traits.devices, std::vector<DeviceKind>{DeviceKind::cpu});
  EXPECT_EQ(read.traits.most_ranks, 2);
  EXPECT_EQ(summary_of(read, {}).backend.unavailable, "no b here");
  EXPECT_EQ(summary_of(read, {}).problems.size(), 0u);
  const auto problems = summary_of(read, {option("mode", "c"), option("many", "10"), option("rate", "x"), option("fast", "1"), option("slow", "1")}).problems;
  std::string text;
  for (const OptionProblem& problem : problems) text += problem.key + " " + problem.text + "\n";
  EXPECT_EQ(text, "mode must be one of a | b, not 'c'\nmany must be an integer, 1 to 9, not '10'\nrate must be a number, 0 to 1, not 'x'\n"
                  "fast must be true or false, not '1'\nslow unknown option 'slow'\n");
}

TEST(BackendDescription, ValuesHaveDefaultsAndTypes) {
  const BackendDescription read = description_in(description(), "plain");
  EXPECT_EQ(option_values(read, {option("mode", "b"), option("fast", "true")}), Json({{"mode", "b"}, {"many", 3}, {"rate", 0.5}, {"fast", true}}));
  EXPECT_EQ(describe_request(1, {option("many", "4"), option("rate", "0.25"), option("mode", "7", true), option("fast", "true")})["options"],
            Json({{"many", 4}, {"rate", 0.25}, {"mode", "7"}, {"fast", true}}));
}

TEST(BackendDescription, RefusesWhatIsNoDescription) {
  EXPECT_EQ(refusal_of([] { description_in(description(), "plain"); }), "accepted");
  EXPECT_THAT(refusal_of([] { description_in(description(), "other"); }), HasSubstr("calls itself 'plain', but its manifest calls it 'other'"));
  const auto with = [](const char* pointer, const Json& value) {
    Json json = description();
    json[Json::json_pointer(pointer)] = value;
    return refusal_of([&] { description_in(json, "plain"); });
  };
  EXPECT_THAT(with("/protocol", 2), HasSubstr("another version"));
  EXPECT_THAT(with("/promise", "sure"), HasSubstr("unknown promise 'sure'"));
  EXPECT_THAT(with("/least_devices", 0), HasSubstr("0 to 2 devices"));
  EXPECT_THAT(with("/most_devices", -1), HasSubstr("`most_devices`"));
  EXPECT_THAT(with("/layers", "dense"), HasSubstr("`layers`"));
  EXPECT_THAT(with("/layers", Json::array({1})), HasSubstr("`layers`"));
  EXPECT_THAT(with("/versions", 1), HasSubstr("`versions`"));
  EXPECT_THAT(with("/precisions", Json::array()), HasSubstr("`precisions`"));
  EXPECT_THAT(with("/options", Json::object()), HasSubstr("`options`"));
  EXPECT_THAT(with("/options/0/type", "list"), HasSubstr("'mode' with the unknown type 'list'"));
  EXPECT_THAT(with("/options/0/default", "c"), HasSubstr("not one of its `values`"));
  EXPECT_THAT(with("/options/1/default", 10), HasSubstr("not an integer in its range"));
  EXPECT_THAT(with("/options/3/default", 1), HasSubstr("not true or false"));
  EXPECT_THAT(with("/problems/0/kind", "bad"), HasSubstr("unknown kind 'bad'"));
  EXPECT_THAT(with("/framework", "PyTorch"), HasSubstr("a `framework` that is not an object"));
  EXPECT_THAT(with("/framework", {{"name", 1}}), HasSubstr("a `framework.name` that is not a text of at most 60 bytes"));
  EXPECT_THAT(with("/framework", {{"version", std::string(61, '1')}}), HasSubstr("`framework.version`"));
  EXPECT_THAT(with("/framework", {{"name", "mgcompare"}}), HasSubstr("the name of this program"));
  EXPECT_THAT(with("/like", Json::array({"serial"})), HasSubstr("a `like` that is not an object"));
  EXPECT_THAT(with("/like", {{"several", nullptr}}), HasSubstr("`like.several`"));
}

TEST(BackendDescription, NamesTheFrameworkAndEqualStrategies) {
  const BackendDescription without = description_in(description(), "plain");
  EXPECT_EQ(without.framework, "plain");
  EXPECT_EQ(without.framework_version + without.summary.like_one + without.summary.like_several, "");
  Json json = description();
  json["framework"] = {{"name", "Py\x1b[1mTorch\n"}, {"version", "2.11.0"}};
  json["like"] = {{"one", "serial"}};
  const BackendDescription with = description_in(json, "plain");
  EXPECT_EQ(with.framework, "PyTorch") << "without escape sequences";
  EXPECT_EQ(with.framework_version, "2.11.0");
  EXPECT_EQ(with.summary.like_one, "serial");
  EXPECT_EQ(with.summary.like_several, "");
}

}  // namespace
}  // namespace mgcompare
