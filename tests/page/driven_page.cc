#include "page/driven_page.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

namespace mgcompare {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr auto kPatience = std::chrono::seconds(60);

template <typename Condition>
bool within_patience(const Condition& holds) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

}  // namespace

DrivenPage::DrivenPage(const std::string& html, int width) : tab_(width) {
  tab_.call("Page.navigate", {{"url", "file://" + tab_.write("page.html", html).string()}});
  EXPECT_TRUE(becomes_true("document.readyState === 'complete' && location.protocol === 'file:' && "
                           "(!document.getElementById('charts') || 'drawn' in document.documentElement.dataset)"));
}

void DrivenPage::press(const std::string& key) {
  static const std::map<std::string, json> kKeys = {
      {"Tab", {{"key", "Tab"}, {"code", "Tab"}, {"windowsVirtualKeyCode", 9}}},
      {"Enter", {{"key", "Enter"}, {"code", "Enter"}, {"windowsVirtualKeyCode", 13}, {"text", "\r"}}},
      {"Space", {{"key", " "}, {"code", "Space"}, {"windowsVirtualKeyCode", 32}, {"text", " "}}},
      {"ArrowRight", {{"key", "ArrowRight"}, {"code", "ArrowRight"}, {"windowsVirtualKeyCode", 39}}}};
  json event = kKeys.at(key);
  event["type"] = event.contains("text") ? "keyDown" : "rawKeyDown";
  tab_.call("Input.dispatchKeyEvent", event);
  event.erase("text");
  event["type"] = "keyUp";
  tab_.call("Input.dispatchKeyEvent", event);
}

bool DrivenPage::becomes_true(const std::string& expression) {
  return within_patience([&] { return evaluate(expression) == true; });
}

void DrivenPage::prefer(const std::string& feature, const std::string& value) {
  tab_.call("Emulation.setEmulatedMedia", {{"features", json::array({{{"name", feature}, {"value", value}}})}});
}

std::vector<json> DrivenPage::accessibility_tree() {
  tab_.call("Accessibility.enable");
  std::vector<json> nodes;
  const json tree = tab_.call("Accessibility.getFullAXTree");
  for (const json& node : tree["nodes"])
    if (!node.value("ignored", false)) nodes.push_back(node);
  return nodes;
}

std::string DrivenPage::saved(const std::string& name) const {
  const fs::path file = tab_.folder() / "saved" / name;
  if (!within_patience([&] { return fs::exists(file) && fs::file_size(file) > 0; })) return "";
  std::ifstream content(file, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(content), {});
}

}  // namespace mgcompare
