#pragma once

// A page that a test uses as a reader does: with keys, in light or dark, with what a screen reader is told.

#include <string>
#include <vector>

#include "page/browser.h"

namespace mgcompare {

class DrivenPage {
 public:
  // Shows the page and waits until its charts are drawn.
  explicit DrivenPage(const std::string& html, int width = 1280);

  // Presses and releases "Tab", "Enter", "Space" or "ArrowRight".
  void press(const std::string& key);
  // The value of an expression in the page; a promise is waited for.
  nlohmann::json evaluate(const std::string& expression) { return tab_.evaluate(expression); }
  // Polls for a minute; false where the expression never became true.
  bool becomes_true(const std::string& expression);
  // Sets a media feature: "prefers-color-scheme", "dark".
  void prefer(const std::string& feature, const std::string& value);
  // The accessibility tree, node by node, without those that are ignored.
  std::vector<nlohmann::json> accessibility_tree();
  // The content of a file that the page saves; empty where it does not come within a minute.
  std::string saved(const std::string& name) const;

 private:
  Tab tab_;
};

}  // namespace mgcompare
