#pragma once

// A file that appears under its name only when all of it is on the disk: readers see the one before or this one.

#include <string>
#include <string_view>

namespace mgcompare {

class FreshFile {
 public:
  // All of them throw NotWritable, which names the path.
  explicit FreshFile(const std::string& path);
  ~FreshFile();                     // what has not been finished leaves no trace
  FreshFile(const FreshFile&) = delete;

  void write(std::string_view text);
  void finish();

 private:
  void flush();
  [[noreturn]] void fail(int reason);

  std::string path_, fresh_;
  std::string waiting_;             // for enough to be worth a call
  int file_ = -1;
};

// The same in one call.
void write_file(const std::string& path, std::string_view text);

}  // namespace mgcompare
