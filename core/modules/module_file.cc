#include "modules/module_file.h"

#include <dlfcn.h>
#include <string.h>

#include <boost/dll/runtime_symbol_info.hpp>
#include <cerrno>
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
      if (const std::size_t end = text.find('\0'); end != std::string_view::npos && text.ends_with('\0') && end + 1 < text.size())
        return Need{std::string(text.substr(0, end)), text.data() + end + 1};
  } catch (const Error&) {
  }
  return std::nullopt;
}

// False also where it is there and cannot be opened, for lack of memory, say: the module then fails with that reason. It stays open: the
// module opens it next.
bool is_missing(const std::string& library) {
  if (dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr) return false;
  const char* const reason = dlerror();
  return reason != nullptr && std::string_view(reason).starts_with(library + ": ") && std::string_view(reason).ends_with(strerror(ENOENT));
}

}  // namespace

std::string module_file(const std::string& name) {
  const fs::path program = fs::path(boost::dll::program_location().string()).parent_path();
  return (program / ".." / "lib" / "mgcompare" / (name + ".so")).string();
}

boost::dll::shared_library open_module(const std::string& name, const std::string& purpose, const std::string& advice) {
  const std::string file = module_file(name);
  if (!fs::exists(file)) throw Error("this build has no module for " + purpose + (advice.empty() ? "" : "; " + advice));
  if (const std::optional<Need> need = need_of(file); need && is_missing(need->library)) throw Error(need->sentence);
  boost::dll::fs::error_code error;
  boost::dll::shared_library library(file, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local, error);
  if (!error) return library;
  const char* const loader_error = dlerror();
  throw Error("the module for " + purpose + " cannot be opened: " +
              (loader_error == nullptr ? error.message() : explain_module_error(loader_error, loader_finds)));
}

}  // namespace mgcompare
