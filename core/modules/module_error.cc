#include "modules/module_error.h"

#include <dlfcn.h>

#include <regex>

#include "base/error_text.h"

namespace mgcompare {
namespace {

// How many major versions below and above the missing one are looked for.
constexpr int kVersionRange = 4;

}  // namespace

std::string explain_module_error(const std::string& loader_error, const std::function<bool(const std::string&)>& is_there) {
  static const std::regex missing(R"((lib[^:/ ]+\.so)(\.(\d+))?[^:]*: cannot open shared object file: No such file)");
  static const std::regex undefined(R"(undefined symbol: ([^ ,]+))");
  std::smatch match;
  if (std::regex_search(loader_error, match, missing)) {
    const std::string library = match[1], needed = library + match[2].str();
    const int major = match[3].matched ? std::stoi(match[3]) : 0;
    for (int distance = 1; major > 0 && distance <= kVersionRange; ++distance) {
      for (const int other : {major - distance, major + distance}) {
        const std::string found = library + "." + std::to_string(other);
        if (other > 0 && is_there(found))
          return found + " is installed, " + needed + " is needed: install that version";
      }
    }
    return needed +
           " is not installed, or not where the loader looks: install it, or add its folder to LD_LIBRARY_PATH";
  }
  if (std::regex_search(loader_error, match, undefined))
    return "a library on this machine is older than the one that the program was built with; it has no " +
           match[1].str() + ": install a newer version";
  return with_memory_limit(loader_error);
}

bool loader_finds(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle != nullptr) dlclose(handle);
  return handle != nullptr;
}

}  // namespace mgcompare
