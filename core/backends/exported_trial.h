#pragma once

// A trial as files for a backend: trial.json, the initial weights, the training samples, and for each epoch the order of samples, how
// augmentation sees them, and the learning rates. The format is that of docs/backend-protocol.md.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "data/dataset.h"
#include "model/spec.h"
#include "plan/trial.h"

namespace mgcompare {

// Weights of a network and its buffers.
struct BackendWeights {
  std::vector<float> parameters, buffers;
};

class ExportedTrial {
 public:
  // Writes everything but the epochs. `folder`: of this trial, which must exist. `data_folder`: for what later trials of the run find
  // there: the samples, and what the backend itself keeps for them. The trial, data and network must outlive this object. `initial`:
  // all parameters; null: drawn from the trial's seed. `numbers`: the samples of each epoch; null: all. Throws Error if a file cannot be written.
  ExportedTrial(const Trial& trial, const Dataset& data, const NetworkSpec& network, const nlohmann::json& options, const std::string& folder,
                const std::string& data_folder, const std::vector<float>* initial = nullptr, const std::vector<std::uint32_t>* numbers = nullptr);
  nlohmann::json trial_request(int id) const;
  // Writes the files of this epoch and removes the weights of the last one.
  nlohmann::json epoch_request(int id, std::size_t epoch) const;
  // What the program has written after this epoch. Throws Error if that is missing or of another size, and Diverged if a weight is not
  // finite.
  BackendWeights read_weights(std::size_t epoch) const;
  // Throws Error if the files of samples and targets are not as they were written: other trials may have to read them.
  void expect_same_data() const;

 private:
  std::size_t samples_of_epoch() const;
  std::string path(const char* name) const { return folder_ + "/" + name; }

  const Trial& trial_;
  const Dataset& data_;
  const NetworkSpec& network_;
  const std::vector<std::uint32_t>* numbers_;
  std::string folder_, data_name_;
};

// The layers, tensors and sizes of a network.
nlohmann::json network_json(const NetworkSpec& network);

}  // namespace mgcompare
