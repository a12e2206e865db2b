#include "results/trial_rows.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/sha256.h"
#include "results/row_checksum.h"

namespace mgcompare {
namespace {

using Json = nlohmann::json;

std::int64_t whole(std::uint64_t value) { return static_cast<std::int64_t>(value); }

// Stores the config, once for equal ones. Returns its key.
std::string store_config(const Database& database, const Config& config) {
  const std::string text = json_text(Json(config)), hash = sha256(text);
  database.run("INSERT INTO config VALUES (?, ?) ON CONFLICT (sha256) DO UPDATE SET json = excluded.json WHERE json <> excluded.json",
               {hash, text});
  return hash;
}

// That of the row if a row can have it, else one behind all others.
int position_of(const Database& database, std::int64_t number) {
  constexpr std::int64_t kLargest = 1'000'000'000;
  std::int64_t position = -1;
  database.query("SELECT position FROM trial WHERE number = ?", {number}, [&](const Columns& row) { position = row.integer(0); });
  if (position < 0 || position > kLargest) {
    database.query("SELECT coalesce(max(position), -1) + 1 FROM trial WHERE position BETWEEN 0 AND ?", {kLargest},
                   [&](const Columns& row) { position = row.integer(0); });
  }
  return static_cast<int>(position);
}

std::string definition_of(const Trial& trial) { return json_text(Json(static_cast<const TrialKey&>(trial))); }

void delete_details(const Database& database, std::int64_t number) {
  for (const char* table : {"epoch", "window", "rank", "metric"})
    database.run(fmt::format("DELETE FROM {} WHERE trial = ?", table), {number});
}

void insert_details(const Database& database, std::int64_t number, const Result& result) {
  std::int64_t index = 0;
  for (const EpochResult& epoch : result.epochs) {
    database.run("INSERT INTO epoch VALUES (?,?,?,?,?,?,?)",
                  {number, ++index, epoch.loss, epoch.train_accuracy, epoch.accuracy, epoch.seconds_training,
                   epoch.seconds_evaluation});
  }
  index = 0;
  for (const WindowResult& window : result.windows) {
    database.run("INSERT INTO window VALUES (?,?,?,?,?,?)",
                  {number, ++index, whole(window.steps), window.samples, window.seconds, window.samples_per_second()});
  }
  index = 0;
  for (const RankTimes& rank : result.ranks) {
    database.run("INSERT INTO rank VALUES (?,?,?,?,?,?,?,?,?,?)",
                  {number, index++, rank.compute, rank.exchange, rank.waiting, rank.harness, rank.optimizer, rank.input,
                   rank.strategy, rank.overlapped});
  }
  index = 0;
  for (const auto& metrics : result.metrics) {
    for (const auto& [name, metric] : metrics) {
      database.run("INSERT INTO metric VALUES (?,?,?,?,?,?,?,?)",
                    {number, index, name, metric.mean, metric.least, metric.most, metric.last, whole(metric.count)});
    }
    ++index;
  }
}

}  // namespace

std::string utc_now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

void insert_trial(const Database& database, const Trial& trial, int position) {
  database.run(
      "INSERT INTO trial (number, position, block, row, strategy, label, variant, device_kind, devices, ranks_per_device, "
      "scaling, global_batch, seed, trial_json, config) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
      {std::int64_t{trial.number}, std::int64_t{position}, std::int64_t{trial.block}, row_name(trial), trial.strategy.name,
       trial.strategy.label, trial.variant, std::string(to_string(trial.device_kind)), whole(trial.devices),
       whole(trial.ranks_per_device), std::string(to_string(trial.scaling)), whole(trial.global_batch), whole(trial.seed),
       definition_of(trial), store_config(database, trial.config)});
  seal_new_trial(database, trial.number);
}

void define_trial(const Database& database, const Trial& trial) {
  database.run("UPDATE trial SET trial_json = ?, config = ? WHERE number = ?",
               {definition_of(trial), store_config(database, trial.config), std::int64_t{trial.number}});
  seal_trial(database, trial.number);
}

void delete_trial(const Database& database, std::int64_t number) {
  delete_details(database, number);
  database.run("DELETE FROM trial WHERE number = ?", {number});
}

bool restore_trial(const Database& database, const Trial& trial) {
  if (is_trial_intact(database, trial.number)) return false;
  const int position = position_of(database, trial.number);
  delete_trial(database, trial.number);
  insert_trial(database, trial, position);
  return true;
}

void reset_trial(const Database& database, std::int64_t number) {
  database.run(
      "UPDATE trial SET state = 'pending', pid = NULL, finished = NULL, sequence = NULL, status = NULL, cause = NULL, "
      "result_json = NULL WHERE number = ?",
      {number});
  delete_details(database, number);
  seal_trial(database, number);
}

void start_trial(const Database& database, std::int64_t number, std::int64_t pid) {
  database.run(
      "UPDATE trial SET state = 'running', attempt = attempt + 1, pid = ?, started = ?, finished = NULL, "
      "sequence = NULL, status = NULL, cause = NULL, result_json = NULL WHERE number = ?",
      {pid == 0 ? Value(nullptr) : Value(pid), utc_now(), number});
  seal_trial(database, number);
}

void finish_trial(const Database& database, std::int64_t number, const Result& result) {
  database.run(
      "UPDATE trial SET state = 'finished', attempt = max(attempt, 1), pid = NULL, finished = ?, "
      "sequence = (SELECT coalesce(max(sequence), 0) + 1 FROM trial), status = ?, cause = ?, accuracy = ?, "
      "samples_per_second = ?, seconds_training = ?, seconds_to_target = ?, seconds_setup = ?, seconds_warm_up = "
      "?, "
      "seconds_evaluation = ?, seconds_checkpoint = ?, seconds_worker_start = ?, step_seconds_median = ?, "
      "harness_share = ?, "
      "samples = ?, steps = ?, updates = ?, bytes_per_step = ?, peak_memory_bytes = ?, parameters = ?, "
      "weights_hash = ?, "
      "result_json = ? WHERE number = ?",
      {utc_now(),
       std::string(to_string(result.status)),
       result.cause,
       result.accuracy,
       result.samples_per_second,
       result.seconds_training,
       result.seconds_to_target,
       result.seconds_setup,
       result.seconds_warm_up,
       result.seconds_evaluation,
       result.seconds_checkpoint,
       result.seconds_worker_start,
       result.step_seconds_median,
       result.harness_share,
       whole(result.samples),
       whole(result.steps),
       whole(result.updates),
       result.bytes_per_step,
       whole(result.peak_memory),
       whole(result.parameters),
       result.weights_hash,
       json_text(result),
       number});
  if (database.integer("SELECT changes()") != 1) throw Error(fmt::format("trial {} is not in the plan of this run", number));
  delete_details(database, number);
  insert_details(database, number, result);
  seal_trial(database, number);
}

}  // namespace mgcompare
