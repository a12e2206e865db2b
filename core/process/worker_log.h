#pragma once

// What the workers of a run print, in one file that stays small: the first half of the limit as it comes, then the last
// half, with a line between them that says how much was left out.

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mgcompare {

class WorkerLog {
 public:
  // `file` may be empty: nothing is written, the last lines are still kept. Throws Error where it cannot be made.
  explicit WorkerLog(const std::string& file, std::size_t limit_bytes = 10 << 20);
  ~WorkerLog();
  void heading(std::string_view text);   // begins the output of one trial
  void write(std::string_view bytes);
  // The last lines since the heading, without what a terminal would obey; each of at most 400 characters.
  std::vector<std::string> last_lines(std::size_t count = 12) const;

 private:
  void keep(std::string_view bytes);
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
  std::size_t half_;
  std::size_t head_bytes_ = 0;
  std::uint64_t dropped_bytes_ = 0;
  std::string tail_;
  std::string recent_;
};

}  // namespace mgcompare
