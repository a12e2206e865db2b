#include "modules/loaded_libraries.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>

#include "base/text.h"
#include "discovery/private_libraries.h"

namespace fs = std::filesystem;

namespace mgcompare {
namespace {

std::set<std::string>& of_plugins() {
  static auto& files = *new std::set<std::string>;
  return files;
}

std::set<std::string> loaded() {
  std::set<std::string> files;
  dl_iterate_phdr(
      [](dl_phdr_info* library, std::size_t, void* all) {
        if (library->dlpi_name != nullptr) static_cast<std::set<std::string>*>(all)->insert(library->dlpi_name);
        return 0;
      },
      &files);
  return files;
}

// The loaded library that the loader takes for this name; empty if there is none.
std::string known_as(const std::string& name) {
  void* const library = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return "";
  link_map* map = nullptr;
  const std::string file = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "";
  dlclose(library);
  return file;
}

}  // namespace

void expect_own_libraries(const std::string& plugin) {
  for (const std::string& library : private_libraries(plugin)) {
    const std::string other = known_as(fs::path(library).filename().string());
    std::error_code ignored;
    if (!of_plugins().contains(other) || fs::equivalent(other, library, ignored)) continue;
    throw ConfusedLibraries(plain(plugin) + " needs " + plain(library) + ", but another plugin of this process has loaded " + plain(other) +
                            ", which has the same name; give the libraries different names, or use one of the plugins at a time");
  }
}

LibraryWatch::LibraryWatch() : before_(loaded()) {}

LibraryWatch::~LibraryWatch() {
  for (const std::string& file : loaded())
    if (!before_.contains(file)) of_plugins().insert(file);
}

}  // namespace mgcompare
