#pragma once

// One headless Chromium for all tests of the process, driven with the DevTools protocol over a pipe. Each test opens a
// tab of its own, with its own profile.

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/types.h>

namespace mgcompare {

// Why there is no browser; empty where there is one.
std::string missing_browser();

class Browser {
 public:
  // Starts the browser at the first call, and again after it broke.
  static Browser& shared();
  ~Browser();
  // Closes the browser. Expects that its network log holds no request of a page but those in `seen_requests`.
  static void close();

  // Without a session: to the browser itself. Throws where it refuses or does not answer within a minute.
  nlohmann::json call(const std::string& session, const std::string& method, nlohmann::json params);
  // Waits for the next event of this name; those before it are kept.
  nlohmann::json wait_for(const std::string& session, const std::string& method);
  // The events of a session so far, in their order.
  const std::vector<nlohmann::json>& events(const std::string& session) { return events_[session]; }
  void forget(const std::string& session) { events_.erase(session); }

  // Lines of the browser's log about the consoles of pages, from this position on.
  std::size_t log_size() const;
  std::string console_since(std::size_t position) const;
  const std::filesystem::path& folder() const { return folder_; }

  std::set<std::string> seen_requests;  // of all pages, as the DevTools protocol reports them

 private:
  Browser();
  nlohmann::json receive();

  std::filesystem::path folder_;
  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
  int last_call_ = 0;
  bool broken_ = false;
  std::string buffer_;
  std::map<std::string, std::vector<nlohmann::json>> events_;
};

// A tab with a profile of its own, closed at the end of the object's life.
class Tab {
 public:
  explicit Tab(int width);
  ~Tab();
  Tab(const Tab&) = delete;
  Tab& operator=(const Tab&) = delete;

  nlohmann::json call(const std::string& method, nlohmann::json params = nlohmann::json::object());
  // The value of an expression in the page; a promise is waited for.
  nlohmann::json evaluate(const std::string& expression);
  // A file of this tab.
  std::filesystem::path write(const std::string& name, const std::string& content) const;
  const std::filesystem::path& folder() const { return folder_; }
  const std::string& session() const { return session_; }
  // Addresses outside of the page's file that were requested, one a line.
  std::string requests();
  // Messages of the page's console, errors and violations of its content policy among them.
  std::string console();

 private:
  Browser& browser_;
  std::size_t log_begin_;
  std::filesystem::path folder_;
  std::string context_, session_;
};

// A page after all of its scripts and timers have run.
struct Shown {
  std::string dom;
  std::string console;
  std::string requests;
};

// Shows the page in a wide window. With `frame` the page is shown in a frame of this width, because windows are never as
// narrow as a phone: then `dom` is that of the page around it, whose `data-said` is what the framed page posts to it.
Shown show(const std::string& html, int frame = 0);

// The page without its content policy.
std::string without_policy(std::string html);
// The page with a script at its end. The content policy does not let it run.
std::string with_script(std::string html, const std::string& script);

}  // namespace mgcompare
