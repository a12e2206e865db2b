#include "process/worker_log.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/print.h"
#include "base/text.h"

#include <algorithm>
#include <filesystem>

#include <fmt/core.h>

#include "process/message.h"
#include "mgcompare/error.h"

namespace mgcompare {
namespace {

constexpr std::size_t kRecentBytes = 16 << 10;
constexpr std::size_t kLineCharacters = 400;

}  // namespace

WorkerLog::WorkerLog(const std::string& file, std::size_t limit_bytes) : half_(limit_bytes / 2) {
  if (file.empty()) return;
  try {
    const std::filesystem::path path = file;
    folder_.emplace(path.parent_path().string());
    name_ = path.filename().string();
    file_.reset(fdopen(folder_->append(name_), "a"));
  } catch (const FileError& error) {
    throw Error(fmt::format("{}; give a writable directory with -o", error.what()));
  }
}

WorkerLog::~WorkerLog() {
  if (!file_) return;
  if (tail_.size() > half_) {
    dropped_bytes_ += tail_.size() - half_;
    tail_.erase(0, tail_.size() - half_);
  }
  if (dropped_bytes_ > 0) print_to(file_.get(), "\n[{} bytes left out]\n", dropped_bytes_);
  std::fwrite(tail_.data(), 1, tail_.size(), file_.get());
  std::fflush(file_.get());
  // Of a run that is refused before its first trial, whose folder goes if there is nothing in it.
  struct stat facts {};
  if (fstat(fileno(file_.get()), &facts) == 0 && facts.st_size == 0) unlinkat(folder_->descriptor(), name_.c_str(), 0);
}

void WorkerLog::heading(std::string_view text) {
  recent_.clear();
  keep(fmt::format("--- {}\n", text));
}

void WorkerLog::write(std::string_view bytes) {
  recent_.append(bytes.substr(bytes.size() - std::min(bytes.size(), kRecentBytes)));
  if (recent_.size() > 2 * kRecentBytes) recent_.erase(0, recent_.size() - kRecentBytes);
  keep(bytes);
}

void WorkerLog::keep(std::string_view bytes) {
  if (!file_) return;
  const std::string_view head = bytes.substr(0, half_ - head_bytes_);
  if (!head.empty()) {
    std::fwrite(head.data(), 1, head.size(), file_.get());
    std::fflush(file_.get());
    head_bytes_ += head.size();
  }
  tail_.append(bytes.substr(head.size()));
  // Seldom, so that much output does not move the tail at each read.
  if (tail_.size() > 2 * half_) {
    dropped_bytes_ += tail_.size() - half_;
    tail_.erase(0, tail_.size() - half_);
  }
}

std::vector<std::string> WorkerLog::last_lines(std::size_t count) const {
  std::vector<std::string> lines;
  std::string_view rest = recent_;
  while (!rest.empty() && lines.size() < count) {
    if (rest.back() == '\n') rest.remove_suffix(1);
    const std::size_t begin = rest.rfind('\n') == std::string_view::npos ? 0 : rest.rfind('\n') + 1;
    std::string line = plain(rest.substr(begin, kLineCharacters));
    if (!line.empty()) lines.push_back(std::move(line));
    rest = rest.substr(0, begin);
  }
  std::reverse(lines.begin(), lines.end());
  return lines;
}

}  // namespace mgcompare
