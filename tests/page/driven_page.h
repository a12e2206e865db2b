#pragma once

// A page operated like a reader would: by keyboard, in light or dark mode, with the accessibility tree.

#include <string>
#include <vector>

#include "page/browser.h"

namespace mgcompare {

class DrivenPage {
 public:
  // Opens the page and waits until its charts are drawn.
  explicit DrivenPage(const std::string& html, int width = 1280);

  // Presses and releases "Tab", "Enter", "Space" or "ArrowRight".
  void press(const std::string& key);
  // Returns the value of an expression in the page. Waits for a promise.
  nlohmann::json evaluate(const std::string& expression) { return tab_.evaluate(expression); }
  // Polls for up to a minute; returns false if the expression did not become true.
  bool becomes_true(const std::string& expression);
  // Sets a media feature: "prefers-color-scheme", "dark".
  void prefer(const std::string& feature, const std::string& value);
  // The nodes of the accessibility tree, without ignored ones.
  std::vector<nlohmann::json> accessibility_tree();
  // The content of a file that the page saves; empty if none arrives within a minute.
  std::string saved(const std::string& name) const;

 private:
  Tab tab_;
};

}  // namespace mgcompare
