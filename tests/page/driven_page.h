#pragma once

// A page in a real browser that a test uses as a reader does: with keys, in light or dark, with what a screen reader is
// told. It speaks the DevTools protocol over a pipe.

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/types.h>

namespace mgcompare {

class DrivenPage {
 public:
  // Shows the page and waits until its charts are drawn.
  explicit DrivenPage(const std::string& html, int width = 1280);
  ~DrivenPage();
  DrivenPage(const DrivenPage&) = delete;
  DrivenPage& operator=(const DrivenPage&) = delete;

  // "Tab", "Enter", "Space", "ArrowRight"; down and up.
  void press(const std::string& key);
  // What an expression is worth in the page; a promise is waited for.
  nlohmann::json evaluate(const std::string& expression);
  // Polls: false where it is not true after a minute.
  bool becomes_true(const std::string& expression);
  // A media feature from here on: "prefers-color-scheme", "dark".
  void prefer(const std::string& feature, const std::string& value);
  // The accessibility tree, node by node, without those that are ignored.
  std::vector<nlohmann::json> accessibility_tree();
  // The content of a file that the page saves; empty where it does not come within a minute.
  std::string saved(const std::string& name) const;

 private:
  nlohmann::json call(const std::string& method, nlohmann::json params);
  nlohmann::json receive();

  std::filesystem::path folder_;
  pid_t browser_ = -1;
  int to_ = -1, from_ = -1;
  int last_call_ = 0;
  std::string session_, buffer_;
};

}  // namespace mgcompare
