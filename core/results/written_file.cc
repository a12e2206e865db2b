#include "results/written_file.h"

#include <utility>

namespace mgcompare {
namespace {

bool is_same(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

constexpr std::size_t kPieceBytes = 1 << 20;

}  // namespace

WrittenFile::WrittenFile(const std::string& path, const Database& database, std::string token)
    : path_(path), database_(database), token_(std::move(token)) {
  stat(path_.c_str(), &opened_);
  has_token();
}

WrittenFile::Fate WrittenFile::fate() {
  struct stat now {};
  if (database_.moved() || stat(path_.c_str(), &now) != 0 || !is_same(now, opened_)) return Fate::moved;
  const bool was_there = place_ >= 0;
  if (!has_token() && was_there) return Fate::overwritten;
  return lost_log() ? Fate::without_log : Fate::in_place;
}

bool WrittenFile::lost_log() {
  struct stat now {};
  const bool is_there = stat((path_ + "-wal").c_str(), &now) == 0;
  if (log_) return !is_there || !is_same(now, *log_);
  if (is_there) log_ = now;
  return false;
}

bool WrittenFile::has_token() {
  if (place_ >= 0 && database_.file_bytes(place_, token_.size()) == token_) return true;
  // SQLite may move it to another page.
  std::int64_t from = 0;
  for (std::string piece; !(piece = database_.file_bytes(from, kPieceBytes)).empty(); from += static_cast<std::int64_t>(kPieceBytes - token_.size())) {
    if (const std::size_t found = piece.find(token_); found != std::string::npos) {
      place_ = from + static_cast<std::int64_t>(found);
      return true;
    }
    if (piece.size() < kPieceBytes) return false;
  }
  return false;
}

}  // namespace mgcompare
