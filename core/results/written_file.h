#pragma once

// The database file of a run in progress. Another file may take its path, or its content: then nothing more may be written,
// and what was written is not in the file that the path leads to. Its log may be removed: then what was written reaches the file
// only if this process ends as it should.

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "results/sqlite.h"

namespace mgcompare {

class WrittenFile {
 public:
  enum class Fate { in_place, moved, overwritten, without_log };

  // `token` is text that only this session has stored in the database. The path and the database must outlive this object.
  WrittenFile(const std::string& path, const Database& database, std::string token);
  Fate fate();

 private:
  bool has_token();
  bool lost_log();

  const std::string& path_;
  const Database& database_;
  std::string token_;
  struct stat opened_ {};
  std::optional<struct stat> log_;  // none: not written yet, or the file system has no logs
  std::int64_t place_ = -1;         // of the token in the file; -1: still in the log only
};

}  // namespace mgcompare
