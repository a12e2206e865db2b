// The database of a results folder is read, or refused with Error.

#include <filesystem>
#include <fstream>

#include "results/results_store.h"

using namespace mgcompare;

namespace {

namespace fs = std::filesystem;

// In memory where the system has a file system there.
fs::path own_folder() {
  const fs::path memory = "/dev/shm";
  std::string pattern = ((fs::is_directory(memory) ? memory : fs::temp_directory_path()) / "mgcompareXXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) std::abort();
  static std::string folder;
  folder = pattern;
  std::atexit([] { fs::remove_all(folder); });
  return folder;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fs::path folder = own_folder();
  // SQLite leaves a journal beside it if the file says so.
  for (const auto& file : fs::directory_iterator(folder)) fs::remove(file);
  std::ofstream(folder / kResultsFile, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  try {
    read_run(folder.string());
  } catch (const Error&) {
  }
  return 0;
}
