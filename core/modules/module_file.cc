#include "modules/module_file.h"

#include <dlfcn.h>

#include <boost/dll/runtime_symbol_info.hpp>
#include <filesystem>
#include <optional>
#include <string_view>

#include "data/mapped_file.h"
#include "discovery/plugin_image.h"
#include "mgcompare/error.h"
#include "modules/module_error.h"

namespace fs = std::filesystem;

namespace mgcompare {
namespace {

// What MGCOMPARE_DEVICES_NEED says in a module: a library, and the sentence for machines that lack it.
struct Need {
  std::string library, sentence;
};

// None if the file cannot be read either: the loader says why.
std::optional<Need> need_of(const std::string& file) {
  try {
    const Mapping mapping = map_file(file);
    const std::string_view bytes(reinterpret_cast<const char*>(mapping.bytes.data()), mapping.bytes.size());
    for (const std::string_view text : sections_named(bytes, ".mgcompare.needs"))
      if (const std::size_t end = text.find('\0'); end != std::string_view::npos && text.ends_with('\0'))
        return Need{std::string(text.substr(0, end)), text.substr(end + 1).data()};
  } catch (const Error&) {
  }
  return std::nullopt;
}

}  // namespace

std::string module_file(const std::string& name) {
  const fs::path program = fs::path(boost::dll::program_location().string()).parent_path();
  return (program / ".." / "lib" / "mgcompare" / (name + ".so")).string();
}

boost::dll::shared_library open_module(const std::string& name, const std::string& purpose, const std::string& advice) {
  const std::string file = module_file(name);
  if (!fs::exists(file)) throw Error("this build has no module for " + purpose + (advice.empty() ? "" : "; " + advice));
  // It stays open: the module opens it next.
  if (const std::optional<Need> need = need_of(file); need && dlopen(need->library.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr) throw Error(need->sentence);
  boost::dll::fs::error_code error;
  boost::dll::shared_library library(file, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local, error);
  if (!error) return library;
  const char* const loader_error = dlerror();
  throw Error("the module for " + purpose + " cannot be opened: " +
              (loader_error == nullptr ? error.message() : explain_module_error(loader_error, loader_finds)));
}

}  // namespace mgcompare
