#include "page/browser.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Lines of the log that hold a message of the page's console.
std::string console_of(const std::string& log) {
  std::string text;
  for (std::size_t begin = 0; begin < log.size();) {
    const std::size_t end = std::min(log.find('\n', begin), log.size());
    const std::string line = log.substr(begin, end - begin);
    if (line.find("CONSOLE") != std::string::npos) text += line + "\n";
    begin = end + 1;
  }
  return text;
}

// Requests that a page from a file started, but for the file itself and data inside of it.
std::string requests_of(const std::string& log) {
  const nlohmann::json net = nlohmann::json::parse(log, nullptr, false);
  std::string text;
  if (!net.is_object()) return "the log of requests cannot be read";
  for (const nlohmann::json& event : net.value("events", nlohmann::json::array())) {
    const nlohmann::json params = event.value("params", nlohmann::json::object());
    const std::string url = params.value("url", ""), initiator = params.value("initiator", "");
    const bool is_from_page = initiator.starts_with("file:") || initiator == "null";
    if (is_from_page && (url.starts_with("http") || url.starts_with("ws"))) text += url + "\n";
  }
  return text;
}

}  // namespace

std::string missing_browser() {
  return std::system("command -v chromium >/dev/null 2>&1") == 0
             ? ""
             : "chromium is not installed (scripts/setup --tests installs it)";
}

Shown show(const std::string& html, int frame) {
  const fs::path folder = fs::path(testing::TempDir()) / ("page." + std::to_string(getpid()));
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::ofstream(folder / "page.html", std::ios::binary) << html;
  std::ofstream(folder / "frame.html") << "<!doctype html><html><body><iframe src=page.html height=800 width=" << frame
                                       << "></iframe><script>addEventListener('message', (event) => "
                                          "(document.body.dataset.said = event.data))</script></body></html>";
  const std::string at = folder.string();
  // Virtual time: the page is done when it has nothing left to do, however slow the machine is.
  const std::string command =
      "timeout 300 chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run "
      "--disable-background-networking --disable-component-update --disable-sync --disable-default-apps "
      "--host-resolver-rules='MAP * ~NOTFOUND' --user-data-dir=" + at + "/profile --log-net-log=" + at + "/net.json "
      "--enable-logging=stderr --virtual-time-budget=60000 --window-size=1280,900 --dump-dom file://" + at +
      (frame > 0 ? "/frame.html >" : "/page.html >") + at + "/dom 2>" + at + "/log";
  const int code = std::system(command.c_str());
  Shown shown{content(folder / "dom"), console_of(content(folder / "log")), requests_of(content(folder / "net.json"))};
  EXPECT_EQ(code, 0) << content(folder / "log");
  fs::remove_all(folder);
  return shown;
}

std::string without_policy(std::string html) {
  const std::size_t begin = html.find("<meta http-equiv=\"Content-Security-Policy\"");
  EXPECT_NE(begin, std::string::npos);
  return html.erase(begin, html.find('>', begin) + 1 - begin);
}

std::string with_script(std::string html, const std::string& script) {
  return html.insert(html.rfind("</body>"), "<script>" + script + "</script>");
}

}  // namespace mgcompare
