#pragma once

// A real browser that shows a page without a screen, and what came of it.

#include <string>

namespace mgcompare {

struct Shown {
  std::string dom;                  // of the page when it was done
  std::string console;              // what it or the browser's policies complained of
  std::string requests;             // addresses outside of the file that it asked for
};

// Words that say why there is no browser; empty where there is one.
std::string missing_browser();

// Shows the page in a wide window, or in a frame of this width; then `dom` is that of the frame's page, whose `data-said`
// is what the framed page posts to its parent. Windows do not get as narrow as phones.
Shown show(const std::string& html, int frame = 0);

// The page without its content policy.
std::string without_policy(std::string html);
// With a script at its end, which a page that has its policy does not run.
std::string with_script(std::string html, const std::string& script);

}  // namespace mgcompare
