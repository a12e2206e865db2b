#pragma once

// The output of the workers of a run, in one file of limited size: the first and the last half of the limit, and between them
// a line with the number of bytes left out.

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/directory.h"

namespace mgcompare {

class WorkerLog {
 public:
  // With an empty `file` only the last lines are kept. Throws Error if the file cannot be created.
  explicit WorkerLog(const std::string& file, std::size_t limit_bytes = 10 << 20);
  ~WorkerLog();                          // removes a file in which nothing is
  void heading(std::string_view text);   // marks the beginning of the output of a trial
  void write(std::string_view bytes);
  // The last lines since the heading, as plain(), each of at most 400 bytes.
  std::vector<std::string> last_lines(std::size_t count = 12) const;

 private:
  void keep(std::string_view bytes);
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::optional<Directory> folder_;
  std::string name_;
  std::unique_ptr<std::FILE, Close> file_;
  std::size_t half_;
  std::size_t head_bytes_ = 0;
  std::uint64_t dropped_bytes_ = 0;
  std::string tail_;
  std::string recent_;
};

}  // namespace mgcompare
