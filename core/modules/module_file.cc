#include "modules/module_file.h"

#include <dlfcn.h>

#include <boost/dll/runtime_symbol_info.hpp>
#include <filesystem>

#include "mgcompare/error.h"
#include "modules/module_error.h"

namespace fs = std::filesystem;

namespace mgcompare {

std::string module_file(const std::string& name) {
  const fs::path program = fs::path(boost::dll::program_location().string()).parent_path();
  return (program / ".." / "lib" / "mgcompare" / (name + ".so")).string();
}

boost::dll::shared_library open_module(const std::string& name, const std::string& purpose, const std::string& advice) {
  const std::string file = module_file(name);
  if (!fs::exists(file)) throw Error("this build has no module for " + purpose + (advice.empty() ? "" : "; " + advice));
  boost::dll::fs::error_code error;
  boost::dll::shared_library library(file, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local, error);
  if (!error) return library;
  const char* const loader_error = dlerror();
  throw Error("the module for " + purpose + " cannot be opened: " +
              (loader_error == nullptr ? error.message() : explain_module_error(loader_error, loader_finds)));
}

}  // namespace mgcompare
