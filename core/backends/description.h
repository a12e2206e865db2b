#pragma once

// What a backend says of itself: its answer to "describe".

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "backends/messages.h"
#include "config/config.h"
#include "discovery/capabilities.h"

namespace mgcompare {

struct BackendOption {
  std::string key, type, help;      // type: "choice", "integer", "number", "flag"
  nlohmann::json default_value;
  std::vector<std::string> values;  // of a choice
  double least = 0, most = 0;       // of a number
};

struct BackendProblem {
  std::string key, text;            // key: empty for the backend as a whole
  bool is_unavailable = false;      // otherwise an error of the config
};

struct BackendDescription {
  std::vector<BackendOption> options;
  std::vector<BackendProblem> problems;
  Traits traits;                    // promise, kinds and numbers of devices
  std::string framework, framework_version;  // what trains, or the backend's own name; the version may be empty
  BackendSummary summary;           // versions, layers, optimisers, precisions, differences, equal strategies
};

// The request with these options of a row.
nlohmann::json describe_request(int id, const std::vector<OptionConfig>& given);

// Reads the answer of the backend `name`. Throws WrongMessage.
BackendDescription description_in(const nlohmann::json& body, const std::string& name);

// Checks the options of a row against the description.
StrategySummary summary_of(const BackendDescription& description, const std::vector<OptionConfig>& given);

// The values of all options: those that are given, and the defaults of the others. The given ones must have passed summary_of().
nlohmann::json option_values(const BackendDescription& description, const std::vector<OptionConfig>& given);

}  // namespace mgcompare
