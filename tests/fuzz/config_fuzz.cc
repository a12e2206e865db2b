// A config is read, or refused with ConfigError. What is read survives being sent to a worker.

#include <cstdlib>

#include <nlohmann/json.hpp>

#include "config/config.h"
#include "config/problem.h"
#include "memory_file.h"

using namespace mgcompare;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  try {
    const Config config = read_config(file.path());
    const Config sent = nlohmann::json::parse(nlohmann::json(config).dump()).get<Config>();
    if (config_hash(sent) != config_hash(config)) std::abort();
  } catch (const ConfigError&) {
  }
  return 0;
}
