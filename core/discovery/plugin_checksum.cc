#include "discovery/plugin_checksum.h"

#include <filesystem>
#include <set>

#include "base/sha256.h"
#include "discovery/manifest.h"
#include "discovery/private_libraries.h"
#include "mgcompare/error.h"

namespace fs = std::filesystem;

namespace mgcompare {
namespace {

std::string sum_of_library(const std::string& file) {
  const std::set<std::string> libraries = private_libraries(file);
  std::string all = sha256_of_file(file);
  if (libraries.empty() || all.empty()) return all;
  for (const std::string& library : libraries) all += fs::path(library).filename().string() + ' ' + sha256_of_file(library);
  return sha256(all);
}

std::string sum_of_backend(const std::string& file) {
  const Manifest manifest = read_manifest(file);
  std::string all = sha256_of_file(file);
  for (const std::string& part : parts_of(manifest)) {
    const std::string sum = sha256_of_file(part);
    if (sum.empty()) return "";
    all += fs::path(part).filename().string() + ' ' + sum;
  }
  return sha256(all);
}

}  // namespace

std::string checksum_of_plugin(const std::string& file) {
  if (!is_backend(file)) return sum_of_library(file);
  try {
    return sum_of_backend(file);
  } catch (const Error&) {
    return "";
  }
}

}  // namespace mgcompare
