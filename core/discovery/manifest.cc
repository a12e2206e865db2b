#include "discovery/manifest.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/descriptor.h"
#include "base/error_text.h"
#include "base/text.h"
#include "config/config.h"
#include "discovery/file_writers.h"
#include "discovery/plugin_image.h"
#include "mgcompare/error.h"

namespace fs = std::filesystem;

namespace mgcompare {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostBytes = std::size_t{64} << 10;
constexpr int kMostLevels = 4;
constexpr std::size_t kMostCharacters = 200;

// Opening a device or a pipe could block.
std::string bytes_of(const std::string& file) {
  const Descriptor descriptor(open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat facts {};
  if (descriptor.number() < 0 || fstat(descriptor.number(), &facts) != 0) refuse_unreadable(errno);
  if (!S_ISREG(facts.st_mode)) throw Error("is not a regular file");
  std::string bytes(kMostBytes + 1, '\0');
  std::size_t size = 0;
  for (;;) {
    const ssize_t count = read(descriptor.number(), bytes.data() + size, bytes.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse_unreadable(errno);
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  if (size > kMostBytes) throw Error(fmt::format("is larger than {} KiB, the limit for manifests", kMostBytes >> 10));
  bytes.resize(size);
  return bytes;
}

Json object_in(const std::string& bytes) {
  bool is_too_deep = false;
  const Json json = Json::parse(bytes, [&](int depth, Json::parse_event_t, const Json&) {
    is_too_deep |= depth > kMostLevels;
    return !is_too_deep;
  }, false);
  if (is_too_deep || !json.is_object()) throw Error("is not a JSON object as docs/backend-protocol.md describes it");
  return json;
}

std::string text_in(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) throw Error(fmt::format("lacks the key '{}'; add it", key));
  if (!found->is_string() || found->get_ref<const std::string&>().empty() || found->get_ref<const std::string&>().size() > kMostCharacters)
    throw Error(fmt::format("has a value of '{}' that is not a text of 1 to {} bytes; correct it", key, kMostCharacters));
  return found->get<std::string>();
}

void check_keys(const Json& json) {
  for (const auto& [key, value] : json.items()) {
    const bool is_known = key == "protocol" || key == "name" || key == "description" || key == "python" || key == "program";
    if (!is_known) throw Error(fmt::format("has the unknown key '{}'; remove it", plain(key.substr(0, 60))));
  }
  const auto protocol = json.find("protocol");
  if (protocol == json.end() || !protocol->is_number_integer()) throw Error("does not say which `protocol` it uses; add \"protocol\": 1");
  if (*protocol != kBackendProtocol)
    throw Error(fmt::format("uses version {} of the protocol of backends, and this program has version {}; use a version of either that "
                            "fits the other", protocol->dump(), kBackendProtocol));
  if (json.contains("python") == json.contains("program")) throw Error("must name either a `python` file or a `program`");
}

// A file in the folder of the manifest.
std::string program_of(const std::string& manifest, const std::string& name, bool is_python) {
  if (name.find('/') != std::string::npos || name == "." || name == ".." || plain(name) != name)
    throw Error(fmt::format("names the program '{}'; name a file in its own folder, without a path", plain(name)));
  const fs::path file = fs::absolute(manifest).parent_path() / name;
  std::error_code error;
  if (!fs::is_regular_file(file, error)) throw Error(fmt::format("names the program {}, which is not a file in its folder", name));
  if (!is_python && access(file.c_str(), X_OK) != 0)
    throw Error(fmt::format("names the program {}, which is not executable; run: chmod +x {}", name, plain(file.string())));
  try {
    check_writers(file.string());
  } catch (const Error& wrong) {
    throw Error(fmt::format("names the program {}, which {}", name, wrong.what()));
  }
  return file.string();
}

// Python prefers a compiled module that fits, and anybody could add one that does.
void check_modules(const Manifest& manifest) {
  std::vector<std::string> files = parts_of(manifest);
  const fs::path compiled = fs::path(manifest.program).parent_path() / "__pycache__";
  std::error_code error;
  if (fs::is_directory(compiled, error) && is_writable_by_all(compiled))
    throw Error(fmt::format("has the folder of modules {0}, to which every user of this machine can write; run: chmod o-w {0}", plain(compiled.string())));
  for (fs::directory_iterator entry(compiled, error), end; !error && entry != end; entry.increment(error)) files.push_back(entry->path().string());
  for (const std::string& file : files) {
    try {
      check_writers(file);
    } catch (const Error& wrong) {
      throw Error(fmt::format("has the module {}, which {}", plain(file), wrong.what()));
    }
  }
}

}  // namespace

bool is_backend(std::string_view plugin_file) {
  return plugin_file.substr(plugin_file.rfind('/') == plugin_file.npos ? 0 : plugin_file.rfind('/') + 1) == kManifestName;
}

Manifest read_manifest(const std::string& file) {
  const Json json = object_in(bytes_of(file));
  check_keys(json);
  Manifest manifest;
  manifest.name = text_in(json, "name");
  if (!is_strategy_name(manifest.name))
    throw Error(fmt::format("calls its backend '{}', which no config can name; use letters, digits, _ and -", plain(manifest.name)));
  manifest.description = plain(text_in(json, "description"));
  manifest.is_python = json.contains("python");
  check_writers(file);
  manifest.program = program_of(file, text_in(json, manifest.is_python ? "python" : "program"), manifest.is_python);
  if (manifest.is_python) check_modules(manifest);
  return manifest;
}

std::vector<std::string> parts_of(const Manifest& manifest) {
  if (!manifest.is_python) return {manifest.program};
  std::vector<std::string> parts;
  std::error_code error;
  for (fs::directory_iterator entry(fs::path(manifest.program).parent_path(), error), end; !error && entry != end; entry.increment(error))
    if (std::error_code ignored; entry->path().extension() == ".py" && entry->is_regular_file(ignored)) parts.push_back(entry->path().string());
  std::sort(parts.begin(), parts.end());
  return parts;
}

}  // namespace mgcompare
