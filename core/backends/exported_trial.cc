#include "backends/exported_trial.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "base/error_text.h"
#include "base/text.h"
#include "data/order.h"
#include "model/augmentation.h"
#include "model/optimizer.h"
#include "model/preparation.h"
#include "model/schedule.h"
#include "results/cause.h"

namespace fs = std::filesystem;

namespace mgcompare {
namespace {

using Json = nlohmann::json;

constexpr char kTrial[] = "trial.json", kInitial[] = "initial.f32", kOrder[] = "order.u32", kViews[] = "views.i8", kRates[] = "rates.f32",
               kWeights[] = "weights.f32", kCache[] = "cache-";
constexpr std::size_t kComparedBytes = std::size_t{1} << 20;

// For a reader that does not exist before the file is complete. Nothing of it must survive a power failure.
class Output {
 public:
  explicit Output(std::string path) : path_(std::move(path)), file_(path_, std::ios::binary | std::ios::trunc) {}
  template <class T>
  Output& write(const T* values, std::size_t count) {
    file_.write(reinterpret_cast<const char*>(values), static_cast<std::streamsize>(count * sizeof(T)));
    return *this;
  }
  void close() {
    file_.close();
    if (!file_) throw Error(fmt::format("{} cannot be written: {}; set TMPDIR to a folder with space", plain(path_), error_text(errno)));
  }

 private:
  std::string path_;
  std::ofstream file_;
};

template <class T>
void write_file(const std::string& path, const std::vector<T>& values) {
  Output file(path);
  file.write(values.data(), values.size()).close();
}

bool holds(const std::string& path, const void* bytes, std::size_t size) {
  std::error_code error;
  if (fs::file_size(path, error) != size || error) return false;
  std::ifstream file(path, std::ios::binary);
  std::vector<char> part(kComparedBytes);
  for (std::size_t at = 0; at < size; at += part.size()) {
    const std::size_t count = std::min(part.size(), size - at);
    file.read(part.data(), static_cast<std::streamsize>(count));
    if (!file || std::memcmp(part.data(), static_cast<const char*>(bytes) + at, count) != 0) return false;
  }
  return true;
}

// Unless it is there. A program that runs as root can have changed it, although nobody may write to it.
void write_once(const std::string& path, const void* bytes, std::size_t size) {
  if (holds(path, bytes, size)) return;
  std::error_code error;
  const std::string unfinished = path + ".tmp";
  Output file(unfinished);
  file.write(static_cast<const char*>(bytes), size).close();
  fs::permissions(unfinished, fs::perms::owner_read, error);
  fs::rename(unfinished, path);
}

Json array_json(const std::string& file, std::string_view type, const Shape& shape) {
  return {{"file", file}, {"type", type}, {"shape", shape}, {"offset", 0}};
}

// Part of the data set has the fingerprint of the part.
std::string name_of_data(const Dataset& data, const std::string& folder) {
  return fmt::format("{}/{}-{}", folder, data.fingerprint.substr(0, 32), data.train.samples);
}

Json data_json(const Dataset& data, const std::string& name) {
  const Split& split = data.train;
  write_once(name + ".values", split.values.data(), split.values.size());
  write_once(name + ".targets", split.targets.data(), split.targets.size() * sizeof(std::uint32_t));
  Shape shape{split.samples};
  shape.insert(shape.end(), data.spec.shape.begin(), data.spec.shape.end());
  return {{"values", array_json(name + ".values", name_of(data.spec.element), shape)},
          {"targets", array_json(name + ".targets", "uint32", {split.samples, data.spec.targets})}};
}

Json preparation_json(const Trial& trial, const SampleSpec& samples) {
  if (samples.tokens > 0) return nullptr;
  const Preparation preparation = preparation_of(trial.config.data.prepare, samples);
  return {{"scale", preparation.scale}, {"mean", preparation.mean}, {"inverse_std", preparation.inverse_std}};
}

Json optimizer_json(const OptimizerConfig& optimizer) {
  return {{"kind", to_string(optimizer.kind)},       {"momentum", optimizer.momentum}, {"nesterov", optimizer.nesterov},
          {"weight_decay", optimizer.weight_decay},  {"beta1", optimizer.beta1},       {"beta2", optimizer.beta2},
          {"rho", optimizer.rho},                    {"epsilon", optimizer.epsilon}};
}

bool augments(const Trial& trial) { return trial.config.data.prepare.flip || trial.config.data.prepare.crop_padding > 0; }

Json trial_json(const Trial& trial, const Dataset& data, std::size_t samples, const NetworkSpec& network, const Json& options) {
  std::vector<int> devices;
  for (std::size_t device = 0; device < trial.devices; ++device) devices.push_back(trial.index_of(device));
  std::vector<double> decays;
  for (const Part& part : network.parts) decays.push_back(decay_of(part, trial.config.optimizer));
  return {{"options", options},
          {"device_kind", to_string(trial.device_kind)},
          {"devices", devices},
          {"batch", trial.global_batch},
          {"epochs", trial.config.epochs},
          {"steps_per_epoch", (samples + trial.global_batch - 1) / trial.global_batch},
          {"seed", trial.seed},
          {"precision", to_string(precision_of(trial.config, trial.device_kind))},
          {"deterministic", is_repeatable(trial.config)},
          {"optimizer", optimizer_json(trial.config.optimizer)},
          {"weight_decays", decays},
          {"batch_norm", to_string(trial.config.batch_norm)},
          {"network", network_json(network)},
          {"augmented", augments(trial)},
          {"preparation", preparation_json(trial, as_read(data.spec, network))},
          {"log_steps", 0}};
}

}  // namespace

ExportedTrial::ExportedTrial(const Trial& trial, const Dataset& data, const NetworkSpec& network, const Json& options, const std::string& folder,
                             const std::string& data_folder, const std::vector<float>* initial, const std::vector<std::uint32_t>* numbers)
    : trial_(trial), data_(data), network_(network), numbers_(numbers), folder_(folder), data_name_(name_of_data(data, data_folder)) {
  std::vector<float> weights = initial == nullptr ? initial_weights(network, trial.seed) : *initial;
  const std::vector<float> buffers = initial_buffers(network);
  weights.insert(weights.end(), buffers.begin(), buffers.end());
  write_file(path(kInitial), weights);
  Json json = trial_json(trial, data, samples_of_epoch(), network, options);
  json["initial"] = path(kInitial);
  const std::string cache = data_folder + "/" + kCache + trial.strategy.name;
  std::error_code error;
  fs::create_directory(cache, error);
  if (error) throw Error(fmt::format("{} cannot be made: {}; set TMPDIR to a folder with space", plain(cache), error.message()));
  json["cache"] = cache;
  json["data"] = data_json(data, data_name_);
  const std::string text = json.dump();
  Output file(path(kTrial));
  file.write(text.data(), text.size()).close();
}

std::size_t ExportedTrial::samples_of_epoch() const { return numbers_ != nullptr ? numbers_->size() : data_.train.samples; }

Json ExportedTrial::trial_request(int id) const { return {{"type", "trial"}, {"id", id}, {"protocol", 1}, {"file", path(kTrial)}}; }

Json ExportedTrial::epoch_request(int id, std::size_t epoch) const {
  std::error_code ignored;
  fs::remove(path(kWeights), ignored);
  const Config& config = trial_.config;
  const std::vector<std::uint32_t> order = epoch_order(samples_of_epoch(), trial_.seed, epoch);
  std::vector<std::uint32_t> numbers = order;
  if (numbers_ != nullptr)
    for (std::uint32_t& number : numbers) number = numbers_->at(number);
  write_file(path(kOrder), numbers);
  std::vector<float> rates;
  for (std::size_t begin = 0; begin < order.size(); begin += trial_.global_batch) {
    const double passed = static_cast<double>(epoch) + static_cast<double>(begin) / static_cast<double>(order.size());
    rates.push_back(static_cast<float>(learning_rate_at(config.optimizer, config.schedule, passed, config.epochs, trial_.global_batch)));
  }
  write_file(path(kRates), rates);
  const PreparationConfig& prepare = config.data.prepare;
  if (augments(trial_)) {
    const Augmentation augmentation(trial_.seed, epoch, prepare.flip, static_cast<std::uint32_t>(prepare.crop_padding));
    std::vector<std::int8_t> views;
    views.reserve(3 * order.size());
    for (const std::uint32_t sample : order) {
      const Augmentation::View view = augmentation.view(sample);
      for (const int value : {view.down, view.right, view.mirrored ? 1 : 0}) views.push_back(static_cast<std::int8_t>(value));
    }
    write_file(path(kViews), views);
  }
  return {{"type", "epoch"},      {"id", id},         {"epoch", epoch}, {"order", path(kOrder)}, {"views", augments(trial_) ? path(kViews) : ""},
          {"rates", path(kRates)}, {"weights", path(kWeights)}};
}

void ExportedTrial::expect_same_data() const {
  const Split& split = data_.train;
  if (!holds(data_name_ + ".values", split.values.data(), split.values.size()) ||
      !holds(data_name_ + ".targets", split.targets.data(), split.targets.size() * sizeof(std::uint32_t)))
    throw Error(fmt::format("the backend changed the samples or the targets, which are only to be read: {}.values, {}.targets", data_name_, data_name_));
}

BackendWeights ExportedTrial::read_weights(std::size_t epoch) const {
  const std::size_t due = (network_.parameters + network_.buffers) * sizeof(float);
  std::error_code error;
  const bool is_file = fs::is_regular_file(path(kWeights), error);
  const std::uintmax_t size = is_file ? fs::file_size(path(kWeights), error) : 0;
  if (!is_file || error) throw Error(fmt::format("after epoch {}, the backend said that it has written its weights, but their file is not there", epoch + 1));
  if (size != due)
    throw Error(fmt::format("after epoch {}, the backend wrote {} bytes of weights, but the {} parameters and {} buffers of the network are {}",
                            epoch + 1, size, network_.parameters, network_.buffers, due));
  BackendWeights weights{std::vector<float>(network_.parameters), std::vector<float>(network_.buffers)};
  std::ifstream file(path(kWeights), std::ios::binary);
  for (std::vector<float>* const part : {&weights.parameters, &weights.buffers}) {
    file.read(reinterpret_cast<char*>(part->data()), static_cast<std::streamsize>(part->size() * sizeof(float)));
    for (const float value : *part)
      if (!std::isfinite(value)) throw Diverged(fmt::format("after epoch {}, weights are not finite", epoch + 1));
  }
  if (!file) throw Error(fmt::format("after epoch {}, the backend's weights cannot be read", epoch + 1));
  return weights;
}

}  // namespace mgcompare
