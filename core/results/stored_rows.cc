#include "results/stored_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>

#include "base/sha256.h"
#include "results/results_schema.h"
#include "results/row_checksum.h"

namespace mgcompare {
namespace {

using Json = nlohmann::json;

constexpr char kDamaged[] = "its values in results.sqlite do not match their checksum, so they changed after they were written; "
                            "`--resume` runs the trial again, or removes the row if the experiment has no such trial";

bool lists_layers(const Json& json) { return json.is_object() && json.contains("layers") && json["layers"].is_array(); }

// Networks and the settings of variants may name files, which are read where the config of a user is. The layers of a stored config
// are listed in it.
std::shared_ptr<const Config> config_of(Json json) {
  const bool has_networks = json.is_object() && json.contains("models") && json["models"].is_array();
  if (has_networks ? !std::all_of(json["models"].begin(), json["models"].end(), lists_layers) : !lists_layers(json))
    throw Error("a stored config does not list its layers");
  json.erase("variants");
  return std::make_shared<const Config>(json.get<Config>());
}

// Trials of one variant have equal configs. Parsing them would take most of the time and memory, so each is parsed once.
class Configs {
 public:
  explicit Configs(const Database& database) {
    if (schema_version(database) < 4) return;
    database.query("SELECT sha256, json FROM config", {}, [&](const Columns& row) {
      const std::string text = row.text(1);
      if (sha256(text) == row.text(0)) stored_[row.text(0)] = config_of(Json::parse(text));
    });
  }

  // Null if the file does not have this config, or has it damaged.
  std::shared_ptr<const Config> stored(const std::string& hash) const {
    const auto found = stored_.find(hash);
    return found == stored_.end() ? nullptr : found->second;
  }

  // Files of version 3 or older: the config in a trial's JSON, which is removed from the text if it is known already.
  std::shared_ptr<const Config> take_from(std::string& trial) {
    const std::size_t at = trial.find(kKey);
    for (const auto& [text, config] : known_) {
      if (at == std::string::npos || trial.compare(at, text.size(), text) != 0) continue;
      trial.replace(at, text.size(), "\"config\":{}");
      return config;
    }
    const Json json = Json::parse(trial).at("config");
    std::shared_ptr<const Config>& config = known_[kKey + json.dump()];
    if (!config) config = config_of(json);
    return config;
  }

 private:
  static constexpr const char* kKey = "\"config\":";
  std::map<std::string, std::shared_ptr<const Config>> stored_;  // by their hash
  std::map<std::string, std::shared_ptr<const Config>> known_;   // by the text with its key
};

// A row of the table `trial`, by the names of its columns.
class StoredTrial {
  static constexpr std::int64_t kLargestPlace = 1'000'000'000;

 public:
  StoredTrial(const Columns& row, const std::map<std::string, int, std::less<>>& columns) : row_(row), columns_(columns) {}
  bool has(std::string_view name) const { return columns_.contains(name) && !text(name).empty(); }
  std::string text(std::string_view name) const { return row_.text(place(name)); }
  std::int64_t integer(std::string_view name) const { return row_.integer(place(name)); }
  // For what the table is ordered by and rows are found by. Throws Error for a value that no row of this program has.
  int place_of(std::string_view name) const {
    const std::int64_t value = integer(name);
    if (value < -kLargestPlace || value > kLargestPlace) throw Error(fmt::format("the {} {} is out of range", name, value));
    return static_cast<int>(value);
  }

 private:
  int place(std::string_view name) const {
    const auto found = columns_.find(name);
    if (found == columns_.end()) throw Error(fmt::format("the table has no column '{}'", name));
    return found->second;
  }

  const Columns& row_;
  const std::map<std::string, int, std::less<>>& columns_;
};

// From the columns, for a row whose JSON cannot be read.
TrialKey key_of(const StoredTrial& row) {
  TrialKey key;
  key.number = row.place_of("number");
  key.block = static_cast<int>(row.integer("block"));
  key.strategy.name = row.text("strategy");
  key.strategy.label = row.text("label");
  key.variant = row.text("variant");
  key.device_kind = device_kind(row.text("device_kind"));
  key.devices = static_cast<std::size_t>(row.integer("devices"));
  key.ranks_per_device = static_cast<std::size_t>(row.integer("ranks_per_device"));
  key.scaling = kind_named<ScalingMode>(row.text("scaling"));
  key.global_batch = static_cast<std::size_t>(row.integer("global_batch"));
  key.seed = static_cast<std::uint64_t>(row.integer("seed"));
  return key;
}

TrialKey readable_key_of(const StoredTrial& row) {
  try {
    return Json::parse(row.text("trial_json")).get<TrialKey>();
  } catch (const std::exception&) {
    return key_of(row);
  }
}

[[noreturn]] void refuse_trial(std::int64_t number, const std::exception& error) {
  throw Error(fmt::format("trial {}: {}", number, reason_of(error)));
}

// Parses the results of rows on other threads while SQLite reads the next ones: this is most of the time of a large run.
class ResultParser {
 public:
  explicit ResultParser(std::vector<Row>& rows) : rows_(rows) {}

  // For the row that is the last now.
  void add(std::string json) {
    if (json.empty()) return;
    texts_.push_back({rows_.size() - 1, std::move(json)});
    if (texts_.size() == kTogether) start();
  }

  // Waits for all. Throws Error for the first row whose result cannot be read.
  void finish() {
    start();
    while (!running_.empty()) take_first();
  }

 private:
  static constexpr std::size_t kTogether = 256;
  struct Text {
    std::size_t row;
    std::string json;
  };
  struct Parsed {
    std::size_t row;
    Result result;
    std::exception_ptr error;
  };

  static std::vector<Parsed> parsed(const std::vector<Text>& texts) {
    std::vector<Parsed> all;
    all.reserve(texts.size());
    for (const Text& text : texts) {
      Parsed& one = all.emplace_back(Parsed{text.row, {}, nullptr});
      try {
        one.result = Json::parse(text.json).get<Result>();
      } catch (const std::exception&) {
        one.error = std::current_exception();
      }
    }
    return all;
  }

  // Not more at a time than processors, so that memory holds few texts.
  void start() {
    if (texts_.empty()) return;
    if (running_.size() >= std::max(1U, std::thread::hardware_concurrency())) take_first();
    const auto work = [texts = std::make_shared<const std::vector<Text>>(std::move(texts_))] { return parsed(*texts); };
    // Deferred where no thread can be had.
    running_.push_back(std::async(std::launch::async | std::launch::deferred, work));
    texts_.clear();
  }

  void take_first() {
    std::vector<Parsed> all = running_.front().get();
    running_.pop_front();
    for (Parsed& one : all) {
      Row& row = rows_[one.row];
      try {
        if (one.error) std::rethrow_exception(one.error);
      } catch (const std::exception& error) {
        refuse_trial(row.trial.number, error);
      }
      row.result = std::move(one.result);
    }
  }

  std::vector<Row>& rows_;
  std::vector<Text> texts_;
  std::deque<std::future<std::vector<Parsed>>> running_;
};

// `result`: its text, if it is to be parsed.
Row row_of(const StoredTrial& stored, bool is_intact, Configs& configs, const std::string& run_config, std::string& result) {
  Row row;
  row.position = stored.place_of("position");
  row.attempt = static_cast<int>(stored.integer("attempt"));
  row.sequence = static_cast<int>(stored.integer("sequence"));
  row.started = stored.text("started");
  row.finished = stored.text("finished");
  std::string trial = stored.text("trial_json");
  const bool has_config = stored.has("config");
  if (has_config) row.config = configs.stored(stored.text("config"));
  if (!is_intact || (has_config && !row.config)) {
    row.trial = readable_key_of(stored);
    // The key of the table: the definition may be a copy of another row's.
    row.trial.number = stored.place_of("number");
    if (!row.config) row.config = config_of(Json::parse(run_config));
    row.state = RowState::finished;
    row.result.status = TrialStatus::damaged;
    row.result.cause = kDamaged;
    return row;
  }
  if (!has_config) row.config = configs.take_from(trial);
  row.trial = Json::parse(trial).get<TrialKey>();
  row.state = row_state_of(stored.text("state"));
  if (row.state == RowState::finished) result = stored.text("result_json");
  return row;
}

}  // namespace

std::string reason_of(const std::exception& error) {
  std::string text = error.what();
  const std::size_t name = text.find("[json.exception."), end = text.find("] ", name);
  return end == std::string::npos ? text : text.erase(name, end + 2 - name);
}

std::vector<Row> read_rows(const Database& database, const std::string& run_config) {
  std::vector<Row> rows;
  rows.reserve(static_cast<std::size_t>(database.integer("SELECT count(*) FROM trial")));
  Configs configs(database);
  TrialSeals seals(database);
  ResultParser results(rows);
  std::map<std::string, int, std::less<>> places;
  database.query("SELECT * FROM trial ORDER BY position", {}, [&](const Columns& columns) {
    if (places.empty())
      for (int column = 0; column < columns.count(); ++column) places.emplace(columns.name(column), column);
    const StoredTrial stored(columns, places);
    std::string result;
    try {
      rows.push_back(row_of(stored, seals.is_intact(columns), configs, run_config, result));
    } catch (const std::exception& error) {
      refuse_trial(stored.integer("number"), error);
    }
    results.add(std::move(result));
  });
  results.finish();
  return rows;
}

}  // namespace mgcompare
