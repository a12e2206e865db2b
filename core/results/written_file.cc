#include "results/written_file.h"

#include <utility>

namespace mgcompare {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;

}  // namespace

WrittenFile::WrittenFile(const std::string& path, const Database& database, std::string token)
    : path_(path), database_(database), token_(std::move(token)) {
  stat(path_.c_str(), &opened_);
  has_token();
}

WrittenFile::Fate WrittenFile::fate() {
  struct stat now {};
  if (database_.moved() || stat(path_.c_str(), &now) != 0 || now.st_dev != opened_.st_dev || now.st_ino != opened_.st_ino)
    return Fate::moved;
  const bool was_there = place_ >= 0;
  return has_token() || !was_there ? Fate::in_place : Fate::overwritten;
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
