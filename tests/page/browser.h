#pragma once

// One headless Chromium for all tests of the process, controlled with the DevTools protocol over a pipe. Each test
// opens its own tab with its own profile.

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/types.h>

namespace mgcompare {

// Why no browser is available; empty if one is.
std::string missing_browser();

class Browser {
 public:
  // Starts the browser on the first call, and again after a crash.
  static Browser& shared();
  ~Browser();
  // Closes the browser. Expects that its network log holds no page request other than those in `seen_requests`.
  static void close();

  // Without a session: to the browser itself. Throws if the browser reports an error or does not answer within a
  // minute.
  nlohmann::json call(const std::string& session, const std::string& method, nlohmann::json params);
  // Waits for the next event with this name. Earlier events are kept.
  nlohmann::json wait_for(const std::string& session, const std::string& method);
  // The events of a session so far, in order.
  const std::vector<nlohmann::json>& events(const std::string& session) { return events_[session]; }
  void forget(const std::string& session) { events_.erase(session); }

  // Console messages of pages in the browser's log, from this position on.
  std::size_t log_size() const;
  std::string console_since(std::size_t position) const;
  const std::filesystem::path& folder() const { return folder_; }

  std::set<std::string> seen_requests;  // of all pages, as reported by the DevTools protocol

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

// A tab with its own profile. The destructor closes it.
class Tab {
 public:
  explicit Tab(int width);
  ~Tab();
  Tab(const Tab&) = delete;
  Tab& operator=(const Tab&) = delete;

  nlohmann::json call(const std::string& method, nlohmann::json params = nlohmann::json::object());
  // Returns the value of an expression in the page. Waits for a promise.
  nlohmann::json evaluate(const std::string& expression);
  // Path of a file in this tab's directory.
  std::filesystem::path write(const std::string& name, const std::string& content) const;
  const std::filesystem::path& folder() const { return folder_; }
  const std::string& session() const { return session_; }
  // Requested addresses outside of the page's file, one per line.
  std::string requests();
  // Console messages of the page, including errors and violations of its content security policy.
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

// Renders the page in a wide window. With `frame`, the page is in a frame of this width, because windows cannot be as
// narrow as a phone. `dom` is then that of the enclosing page, whose `data-said` holds what the framed page posts to
// it.
Shown show(const std::string& html, int frame = 0);

// The page without its content security policy.
std::string without_policy(std::string html);
// The page with a script appended. The content security policy blocks it.
std::string with_script(std::string html, const std::string& script);

}  // namespace mgcompare
