#include "page/driven_page.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <thread>

namespace mgcompare {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kPatienceMs = 60'000;

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe to the browser");
  return ends;
}

template <typename Condition>
bool within_patience(const Condition& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

}  // namespace

DrivenPage::DrivenPage(const std::string& html, int width)
    : folder_(fs::path(testing::TempDir()) / ("driven." + std::to_string(getpid()))) {
  fs::remove_all(folder_);
  fs::create_directories(folder_ / "saved");
  std::ofstream(folder_ / "page.html", std::ios::binary) << html;
  const std::string profile = "--user-data-dir=" + (folder_ / "profile").string();
  const std::string size = "--window-size=" + std::to_string(width) + ",900";
  const std::array<int, 2> there = make_pipe(), back = make_pipe();
  browser_ = fork();
  if (browser_ == 0) {
    // Chromium reads commands from descriptor 3 and answers on 4. The copies are out of the way of both.
    const int in = fcntl(there[0], F_DUPFD, 10), out = fcntl(back[1], F_DUPFD, 10), log = open("/dev/null", O_WRONLY);
    dup2(in, 3), dup2(out, 4), dup2(log, 2);
    close(in), close(out);
    setpgid(0, 0);
    execlp("chromium", "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
           "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
           "--disable-default-apps", "--host-resolver-rules=MAP * ~NOTFOUND", "--remote-debugging-pipe", profile.c_str(),
           size.c_str(), "about:blank", nullptr);
    _exit(127);
  }
  close(there[0]), close(back[1]);
  to_ = there[1], from_ = back[0];
  const json target = call("Target.createTarget", {{"url", "about:blank"}});
  session_ = call("Target.attachToTarget", {{"targetId", target["targetId"]}, {"flatten", true}})["sessionId"];
  call("Emulation.setDeviceMetricsOverride",
       {{"width", width}, {"height", 900}, {"deviceScaleFactor", 1}, {"mobile", width < 600}});
  call("Browser.setDownloadBehavior", {{"behavior", "allow"}, {"downloadPath", (folder_ / "saved").string()}});
  call("Page.enable", json::object());
  call("Page.navigate", {{"url", "file://" + (folder_ / "page.html").string()}});
  EXPECT_TRUE(becomes_true("document.readyState === 'complete' && location.protocol === 'file:' && "
                           "(!document.getElementById('charts') || 'drawn' in document.documentElement.dataset)"));
}

DrivenPage::~DrivenPage() {
  close(to_), close(from_);
  // Its own group: the renderers too.
  kill(-browser_, SIGKILL);
  waitpid(browser_, nullptr, 0);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

json DrivenPage::receive() {
  for (;;) {
    if (const std::size_t end = buffer_.find('\0'); end != std::string::npos) {
      const json message = json::parse(buffer_.substr(0, end));
      buffer_.erase(0, end + 1);
      return message;
    }
    pollfd ready{from_, POLLIN, 0};
    std::array<char, 65536> bytes{};
    const ssize_t count = poll(&ready, 1, kPatienceMs) == 1 ? read(from_, bytes.data(), bytes.size()) : -1;
    if (count <= 0) throw std::runtime_error("the browser does not answer");
    buffer_.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

json DrivenPage::call(const std::string& method, json params) {
  json message = {{"id", ++last_call_}, {"method", method}, {"params", std::move(params)}};
  if (!session_.empty()) message["sessionId"] = session_;
  const std::string text = message.dump() + '\0';
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t count = write(to_, text.data() + sent, text.size() - sent);
    if (count <= 0) throw std::runtime_error("the browser does not listen");
    sent += static_cast<std::size_t>(count);
  }
  for (;;) {
    const json answer = receive();
    if (answer.value("id", 0) != last_call_) continue;
    if (answer.contains("error")) throw std::runtime_error(method + ": " + answer["error"].dump());
    return answer["result"];
  }
}

void DrivenPage::press(const std::string& key) {
  static const std::map<std::string, json> kKeys = {
      {"Tab", {{"key", "Tab"}, {"code", "Tab"}, {"windowsVirtualKeyCode", 9}}},
      {"Enter", {{"key", "Enter"}, {"code", "Enter"}, {"windowsVirtualKeyCode", 13}, {"text", "\r"}}},
      {"Space", {{"key", " "}, {"code", "Space"}, {"windowsVirtualKeyCode", 32}, {"text", " "}}},
      {"ArrowRight", {{"key", "ArrowRight"}, {"code", "ArrowRight"}, {"windowsVirtualKeyCode", 39}}}};
  json event = kKeys.at(key);
  event["type"] = event.contains("text") ? "keyDown" : "rawKeyDown";
  call("Input.dispatchKeyEvent", event);
  event.erase("text");
  event["type"] = "keyUp";
  call("Input.dispatchKeyEvent", event);
}

json DrivenPage::evaluate(const std::string& expression) {
  const json answer =
      call("Runtime.evaluate", {{"expression", expression}, {"awaitPromise", true}, {"returnByValue", true}});
  if (answer.contains("exceptionDetails")) throw std::runtime_error(answer["exceptionDetails"].dump());
  return answer["result"].value("value", json());
}

bool DrivenPage::becomes_true(const std::string& expression) {
  return within_patience([&] { return evaluate(expression) == true; });
}

void DrivenPage::prefer(const std::string& feature, const std::string& value) {
  call("Emulation.setEmulatedMedia", {{"features", json::array({{{"name", feature}, {"value", value}}})}});
}

std::vector<json> DrivenPage::accessibility_tree() {
  call("Accessibility.enable", json::object());
  std::vector<json> nodes;
  const json tree = call("Accessibility.getFullAXTree", json::object());
  for (const json& node : tree["nodes"])
    if (!node.value("ignored", false)) nodes.push_back(node);
  return nodes;
}

std::string DrivenPage::saved(const std::string& name) const {
  const fs::path file = folder_ / "saved" / name;
  if (!within_patience([&] { return fs::exists(file) && fs::file_size(file) > 0; })) return "";
  std::ifstream content(file, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(content), {});
}

}  // namespace mgcompare
