#pragma once

// A temporary directory for each test, and the messages from reading a config in it.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "config/config.h"
#include "config/problem.h"

namespace mgcompare {

inline const std::string kLeNet = MGCOMPARE_SOURCE_DIR "/configs/lenet.yaml";

// A valid config; each test invalidates one part of it.
inline const std::string kGood =
    "layers: [{dense: 10}]\n"
    "strategies: [serial]\n";

class Workspace : public testing::Test {
 protected:
  Workspace() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string("mgcompare-") + test->test_suite_name() + "-" + test->name() + "-" + std::to_string(getpid());
    for (char& c : name) c = c == '/' ? '_' : c;  // of parameterised tests
    folder_ = std::filesystem::temp_directory_path() / name;
    std::filesystem::create_directories(folder_ / "models");
  }
  ~Workspace() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = (folder_ / name).string();
    std::filesystem::remove(path);  // truncating and rewriting a file flushes it on some systems, 5 ms each time
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  Config read(const std::string& text, const ConfigSetting& setting = {}) const {
    return read_config(write("x.yaml", text), setting);
  }

  // The messages for the user, without the directory's name; empty for a valid config.
  std::string complaint(const std::string& text, const ConfigSetting& setting = {}) const {
    return complaint_of(write("x.yaml", text), setting);
  }
  std::string complaint_of(const std::string& path, const ConfigSetting& setting = {}) const {
    try {
      read_config(path, setting);
      return "";
    } catch (const ConfigError& error) {
      std::string what = error.what();
      const std::string folder = folder_.string() + "/";
      for (std::size_t i = what.find(folder); i != std::string::npos; i = what.find(folder))
        what.erase(i, folder.size());
      return what;
    }
  }

  std::filesystem::path folder_;
};

}  // namespace mgcompare
