#include "results/result.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>

#include "base/json_text.h"
#include "mgcompare/error.h"

namespace mgcompare {
namespace {

using Json = nlohmann::json;

constexpr double RankTimes::* kParts[] = {&RankTimes::compute,   &RankTimes::optimizer, &RankTimes::input,
                                          &RankTimes::exchange,  &RankTimes::waiting,   &RankTimes::strategy,
                                          &RankTimes::harness,   &RankTimes::overlapped};

// The fields of each struct with their JSON names: one list for writing and reading.
template <class R, class F>
void each_field(R& r, const F& f) {
  using Plain = std::remove_const_t<R>;
  if constexpr (std::is_same_v<Plain, EvaluationResult>) {
    f("epochs", r.epochs), f("seconds_training", r.seconds_training), f("accuracy", r.accuracy);
    f("sketch", r.sketch), f("ranks_apart", r.ranks_apart), f("ranks_moved", r.ranks_moved);
  } else if constexpr (std::is_same_v<Plain, EpochResult>) {
    f("loss", r.loss), f("train_accuracy", r.train_accuracy), f("accuracy", r.accuracy);
    f("test_loss", r.test_loss), f("seconds_training", r.seconds_training), f("seconds_evaluation", r.seconds_evaluation);
    f("sketch", r.sketch), f("ranks_apart", r.ranks_apart), f("ranks_moved", r.ranks_moved);
    f("repeats_samples", r.repeats_samples), f("statistics_sketch", r.statistics_sketch);
    f("seconds_reported", r.seconds_reported), f("seconds_unclocked", r.seconds_unclocked), f("evaluations", r.evaluations);
  } else if constexpr (std::is_same_v<Plain, RankTimes>) {
    f("seconds_compute", r.compute), f("seconds_exchange", r.exchange), f("seconds_waiting", r.waiting);
    f("seconds_harness", r.harness), f("seconds_overlapped", r.overlapped);
    f("seconds_optimizer", r.optimizer), f("seconds_input", r.input), f("seconds_strategy", r.strategy);
  } else if constexpr (std::is_same_v<Plain, WindowResult>) {
    f("steps", r.steps), f("samples", r.samples), f("seconds", r.seconds);
  } else if constexpr (std::is_same_v<Plain, MetricResult>) {
    f("mean", r.mean), f("least", r.least), f("most", r.most), f("last", r.last), f("count", r.count);
    f("counts", r.counts);
  } else if constexpr (std::is_same_v<Plain, Kept>) {
    f("what", r.what), f("where", r.where), f("bytes", r.bytes), f("type", r.type);
  } else if constexpr (std::is_same_v<Plain, Sent>) {
    f("call", r.call), f("over", r.over), f("calls_per_step", r.calls), f("bytes_per_step", r.bytes);
    f("payload_per_step", r.payload);
  } else if constexpr (std::is_same_v<Plain, ExchangeCall>) {
    f("bytes", r.bytes), f("begin", r.begin), f("join", r.join), f("after", r.after), f("call", r.call), f("payload", r.payload);
  } else if constexpr (std::is_same_v<Plain, RankPlacement>) {
    f("device", r.device), f("kept", r.kept), f("sent", r.sent), f("own_kernels", r.own_kernels);
  } else {
    static_assert(std::is_same_v<Plain, Result>);
    f("status", r.status), f("cause", r.cause), f("log", r.log), f("epochs", r.epochs);
    f("accuracy", r.accuracy), f("accuracy_spread", r.accuracy_spread);
    f("seconds_worker_start", r.seconds_worker_start), f("seconds_setup", r.seconds_setup);
    f("seconds_warm_up", r.seconds_warm_up), f("seconds_training", r.seconds_training);
    f("seconds_evaluation", r.seconds_evaluation), f("seconds_checkpoint", r.seconds_checkpoint);
    f("seconds_to_target", r.seconds_to_target), f("step_seconds_median", r.step_seconds_median);
    f("samples_per_second", r.samples_per_second), f("harness_share", r.harness_share);
    f("windows", r.windows);
    f("samples", r.samples), f("samples_due", r.samples_due), f("samples_ignored", r.samples_ignored);
    f("samples_only_passed", r.samples_only_passed), f("samples_judged_again", r.samples_judged_again), f("samples_evaluated", r.samples_evaluated);
    f("steps", r.steps), f("updates", r.updates), f("bytes_per_step", r.bytes_per_step);
    f("seconds_other_threads", r.seconds_other_threads), f("seconds_rank_threads", r.seconds_rank_threads);
    f("seconds_stood_still", r.seconds_stood_still);
    f("exclusive_sections", r.exclusive_sections), f("shared", r.shared);
    f("changed_settings", r.changed_settings);
    f("peak_memory_bytes", r.peak_memory), f("fitting_batch", r.fitting_batch), f("parameters", r.parameters), f("weights_hash", r.weights_hash);
    f("record_sha256", r.record_sha256);
    f("exchange_calls", r.exchange_calls), f("exchange_call_steps", r.exchange_call_steps), f("seconds_late", r.seconds_late);
    f("ranks", r.ranks), f("metrics", r.metrics), f("traits", r.traits), f("placement", r.placement);
    f("framework", r.framework), f("framework_version", r.framework_version), f("like", r.like), f("versions", r.versions);
    f("notes", r.notes);
  }
}

void append_text(std::string& text, const std::string& value) {
  const auto needs_nothing = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
  if (std::all_of(value.begin(), value.end(), needs_nothing))
    ((text += '"') += value) += '"';
  else
    text += json_text(value);
}

// The shortest digits that parse to the same number; a floating-point number keeps a point or an exponent.
template <class T>
void append_number(std::string& text, T value) {
  std::array<char, 32> digits{};
  const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  const std::string_view number(digits.data(), static_cast<std::size_t>(end - digits.data()));
  text += number;
  if (std::is_floating_point_v<T> && number.find_first_of(".e") == std::string_view::npos) text += ".0";
}

template <class T>
void append_json(std::string& text, const T& value);
template <class T>
void append_json(std::string& text, const std::map<std::string, T>& values);
template <class T>
void append_json(std::string& text, const std::vector<T>& values) {
  text += '[';
  for (const T& value : values) {
    if (&value != &values.front()) text += ',';
    append_json(text, value);
  }
  text += ']';
}
template <class T>
void append_json(std::string& text, const std::map<std::string, T>& values) {
  text += '{';
  for (const auto& [key, value] : values) {
    if (text.back() != '{') text += ',';
    append_text(text, key);
    text += ':';
    append_json(text, value);
  }
  text += '}';
}
template <class T>
void append_json(std::string& text, const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isfinite(value))
      append_number(text, value);
    else
      text += "null";  // JSON has no nan
  } else if constexpr (std::is_integral_v<T>) {
    append_number(text, value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    append_text(text, value);
  } else if constexpr (std::is_same_v<T, TrialStatus>) {
    ((text += '"') += to_string(value)) += '"';
  } else {
    text += '{';
    each_field(value, [&](const char* name, const auto& field) {
      if (text.back() != '{') text += ',';
      ((text += '"') += name) += "\":";
      append_json(text, field);
    });
    text += '}';
  }
}

template <class T>
void read(const Json& json, T& value);
template <class T>
void read(const Json& json, std::map<std::string, T>& values);
template <class T>
void read(const Json& json, std::vector<T>& values) {
  values.clear();
  for (const Json& item : json.get_ref<const Json::array_t&>()) read(item, values.emplace_back());
}
template <class T>
void read(const Json& json, std::map<std::string, T>& values) {
  values.clear();
  for (const auto& [key, item] : json.get_ref<const Json::object_t&>()) read(item, values[key]);
}
template <class T>
void read(const Json& json, T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    value = json.is_null() ? std::numeric_limits<T>::quiet_NaN() : json.get<T>();
  } else if constexpr (std::is_same_v<T, TrialStatus>) {
    value = trial_status_of(json.get<std::string>());
  } else if constexpr (std::is_class_v<T> && !std::is_same_v<T, std::string>) {
    // A missing field was not known to an older version and keeps its default. Unknown fields are from a newer version.
    each_field(value, [&](const char* name, auto& field) {
      const auto found = json.find(std::string_view(name));  // a char pointer would need strlen() at each comparison
      if (found != json.end()) read(*found, field);
    });
  } else {
    json.get_to(value);
  }
}

}  // namespace

RankTimes& RankTimes::operator+=(const RankTimes& other) {
  for (double RankTimes::* const part : kParts) this->*part += other.*part;
  return *this;
}

RankTimes& RankTimes::operator*=(double factor) {
  for (double RankTimes::* const part : kParts) this->*part *= factor;
  return *this;
}

bool has_figures(const Result& result) { return result.status == TrialStatus::done || result.samples > 0; }

bool has_trait(const Result& result, const std::string& key, std::string_view value) {
  const auto found = result.traits.find(key);
  return found != result.traits.end() && found->second == value;
}

double total_seconds(const Result& result) {
  return result.seconds_setup + result.seconds_warm_up + result.seconds_training + result.seconds_evaluation + result.seconds_checkpoint;
}

double shared_bytes(const Result& result) {
  double bytes = 0;
  for (const Kept& object : result.shared) bytes += static_cast<double>(object.bytes);
  return bytes;
}

std::string json_text(const Result& result) {
  std::string text;
  append_json(text, result);
  return text;
}

void to_json(nlohmann::json& json, const Result& result) { json = Json::parse(json_text(result)); }

void from_json(const nlohmann::json& json, Result& result) {
  try {
    if (!json.is_object()) throw Error("a result in JSON must be an object");
    result = Result();
    read(json, result);
    const auto ranks = json.find("ranks");
    result.compute_is_remainder = ranks != json.end() && !ranks->empty() && !ranks->front().contains("seconds_strategy");
  } catch (const nlohmann::json::exception& wrong) {
    throw Error(std::string("a result in JSON has fields of the wrong type (") + wrong.what() + ")");
  }
}

}  // namespace mgcompare
