#include "page/browser.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <thread>

namespace mgcompare {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kPatienceMs = 60'000;

Browser* running = nullptr;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe to the browser");
  return ends;
}

bool is_remote(const std::string& url) { return url.starts_with("http") || url.starts_with("ws"); }

// Page requests from files, as listed in the browser's network log.
std::set<std::string> logged_requests(const fs::path& file) {
  const json log = json::parse(content(file), nullptr, false);
  EXPECT_TRUE(log.is_object()) << "the network log cannot be read";
  std::set<std::string> urls;
  if (!log.is_object()) return urls;
  for (const json& event : log.value("events", json::array())) {
    const json params = event.value("params", json::object());
    const std::string url = params.value("url", ""), initiator = params.value("initiator", "");
    if ((initiator.starts_with("file:") || initiator == "null") && is_remote(url)) urls.insert(url);
  }
  return urls;
}

// Compares the requests in the network log with those that the tests saw.
class ClosesBrowser : public testing::Environment {
 public:
  void TearDown() override { Browser::close(); }
};
const testing::Environment* const kClosesBrowser = testing::AddGlobalTestEnvironment(new ClosesBrowser);

}  // namespace

std::string missing_browser() {
  return std::system("command -v chromium >/dev/null 2>&1") == 0
             ? ""
             : "chromium is not installed (scripts/setup --tests installs it)";
}

Browser& Browser::shared() {
  if (running != nullptr && running->broken_) {
    delete running;
    running = nullptr;
  }
  if (running == nullptr) running = new Browser;
  return *running;
}

void Browser::close() {
  if (running == nullptr) return;
  const std::unique_ptr<Browser> closing(running);
  running = nullptr;
  if (closing->broken_) return;
  // The network log is complete when the process has ended.
  closing->call("", "Browser.close", json::object());
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  while (waitpid(closing->process_, nullptr, WNOHANG) == 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(logged_requests(closing->folder_ / "net.json"), closing->seen_requests);
}

Browser::Browser() : folder_(fs::path(testing::TempDir()) / ("browser." + std::to_string(getpid()))) {
  fs::remove_all(folder_);
  fs::create_directories(folder_);
  const std::string profile = "--user-data-dir=" + (folder_ / "profile").string();
  const std::string net_log = "--log-net-log=" + (folder_ / "net.json").string();
  const std::string log_file = (folder_ / "log").string();
  const std::array<int, 2> there = make_pipe(), back = make_pipe();
  process_ = fork();
  if (process_ == 0) {
    // Chromium reads commands from descriptor 3 and writes answers to 4. The copies avoid both numbers.
    const int in = fcntl(there[0], F_DUPFD, 10), out = fcntl(back[1], F_DUPFD, 10);
    const int log = open(log_file.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
    dup2(in, 3), dup2(out, 4), dup2(log, 2);
    ::close(in), ::close(out);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execlp("chromium", "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
           "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
           "--disable-default-apps", "--host-resolver-rules=MAP * ~NOTFOUND", "--remote-debugging-pipe",
           "--enable-logging=stderr", "--window-size=1280,900", profile.c_str(), net_log.c_str(), "about:blank", nullptr);
    _exit(127);
  }
  ::close(there[0]), ::close(back[1]);
  to_ = there[1], from_ = back[0];
}

Browser::~Browser() {
  ::close(to_), ::close(from_);
  // The process group contains the renderers too.
  kill(-process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

json Browser::receive() {
  for (;;) {
    if (const std::size_t end = buffer_.find('\0'); end != std::string::npos) {
      json message = json::parse(buffer_.substr(0, end));
      buffer_.erase(0, end + 1);
      if (message.contains("method")) events_[message.value("sessionId", "")].push_back(message);
      return message;
    }
    pollfd ready{from_, POLLIN, 0};
    std::array<char, 65536> bytes{};
    const ssize_t count = poll(&ready, 1, kPatienceMs) == 1 ? read(from_, bytes.data(), bytes.size()) : -1;
    if (count <= 0) {
      broken_ = true;
      throw std::runtime_error("the browser does not answer: " + content(folder_ / "log"));
    }
    buffer_.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

json Browser::call(const std::string& session, const std::string& method, json params) {
  json message = {{"id", ++last_call_}, {"method", method}, {"params", std::move(params)}};
  if (!session.empty()) message["sessionId"] = session;
  const std::string text = message.dump() + '\0';
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t count = write(to_, text.data() + sent, text.size() - sent);
    if (count <= 0) {
      broken_ = true;
      throw std::runtime_error("the browser does not read its commands");
    }
    sent += static_cast<std::size_t>(count);
  }
  for (;;) {
    const json answer = receive();
    if (answer.value("id", 0) != last_call_) continue;
    if (answer.contains("error")) throw std::runtime_error(method + ": " + answer["error"].dump());
    return answer["result"];
  }
}

json Browser::wait_for(const std::string& session, const std::string& method) {
  for (std::size_t at = 0;; ++at) {
    while (at >= events_[session].size()) receive();
    if (events_[session][at]["method"] == method) return events_[session][at];
  }
}

std::size_t Browser::log_size() const { return fs::file_size(folder_ / "log"); }

std::string Browser::console_since(std::size_t position) const {
  const std::string log = content(folder_ / "log");
  std::string text;
  for (std::size_t begin = position; begin < log.size();) {
    const std::size_t end = std::min(log.find('\n', begin), log.size());
    const std::string line = log.substr(begin, end - begin);
    if (line.find("CONSOLE") != std::string::npos) text += line + "\n";
    begin = end + 1;
  }
  return text;
}

Tab::Tab(int width) : browser_(Browser::shared()), log_begin_(0) {
  context_ = browser_.call("", "Target.createBrowserContext", json::object())["browserContextId"];
  log_begin_ = browser_.log_size();
  folder_ = browser_.folder() / context_;
  fs::create_directories(folder_ / "saved");
  browser_.call("", "Browser.setDownloadBehavior",
                {{"behavior", "allow"}, {"browserContextId", context_}, {"downloadPath", (folder_ / "saved").string()}});
  const json target = browser_.call("", "Target.createTarget", {{"url", "about:blank"}, {"browserContextId", context_}});
  session_ = browser_.call("", "Target.attachToTarget", {{"targetId", target["targetId"]}, {"flatten", true}})["sessionId"];
  call("Emulation.setDeviceMetricsOverride",
       {{"width", width}, {"height", 900}, {"deviceScaleFactor", 1}, {"mobile", width < 600}});
  for (const char* domain : {"Page.enable", "Runtime.enable", "Log.enable", "Network.enable"}) call(domain);
}

Tab::~Tab() {
  try {
    requests();
    browser_.call("", "Target.disposeBrowserContext", {{"browserContextId", context_}});
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
  browser_.forget(session_);
}

json Tab::call(const std::string& method, json params) { return browser_.call(session_, method, std::move(params)); }

json Tab::evaluate(const std::string& expression) {
  const json answer =
      call("Runtime.evaluate", {{"expression", expression}, {"awaitPromise", true}, {"returnByValue", true}});
  if (answer.contains("exceptionDetails")) throw std::runtime_error(answer["exceptionDetails"].dump());
  return answer["result"].value("value", json());
}

fs::path Tab::write(const std::string& name, const std::string& text) const {
  std::ofstream(folder_ / name, std::ios::binary) << text;
  return folder_ / name;
}

std::string Tab::requests() {
  // A request that the content security policy blocks is announced but never sent.
  std::map<std::string, std::string> made;
  for (const json& event : browser_.events(session_)) {
    const json& params = event["params"];
    if (event["method"] == "Network.requestWillBeSent" && is_remote(params["request"]["url"]))
      made[params["requestId"]] = params["request"]["url"];
    if (event["method"] == "Network.webSocketCreated") made[params["requestId"]] = params["url"];
    if (event["method"] == "Network.loadingFailed" && params.value("blockedReason", "") == "csp")
      made.erase(params["requestId"].get<std::string>());
  }
  std::string text;
  for (const auto& [id, url] : made) {
    text += url + "\n";
    browser_.seen_requests.insert(url);
  }
  return text;
}

std::string Tab::console() {
  std::string text = browser_.console_since(log_begin_);
  for (const json& event : browser_.events(session_)) {
    const json& params = event["params"];
    if (event["method"] == "Runtime.consoleAPICalled") text += params["args"].dump() + "\n";
    if (event["method"] == "Runtime.exceptionThrown") text += params["exceptionDetails"].dump() + "\n";
    if (event["method"] == "Log.entryAdded") text += params["entry"].value("text", "") + "\n";
  }
  return text;
}

Shown show(const std::string& html, int frame) {
  Tab tab(1280);
  fs::path page = tab.write("page.html", html);
  if (frame > 0)
    page = tab.write("frame.html", "<!doctype html><html><body><iframe src=page.html height=800 width=" +
                                       std::to_string(frame) +
                                       "></iframe><script>addEventListener('message', (event) => "
                                       "(document.body.dataset.said = event.data))</script></body></html>");
  tab.call("Page.navigate", {{"url", "file://" + page.string()}});
  // With virtual time a page is finished when it has no work left, however slow the machine is.
  tab.call("Emulation.setVirtualTimePolicy",
           {{"policy", "pauseIfNetworkFetchesPending"}, {"budget", 60000}, {"maxVirtualTimeTaskStarvationCount", 9999}});
  Browser::shared().wait_for(tab.session(), "Emulation.virtualTimeBudgetExpired");
  const std::string dom = tab.evaluate("document.documentElement.outerHTML");
  return {dom, tab.console(), tab.requests()};
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
