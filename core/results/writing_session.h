#pragma once

// The one process that writes the results of a run: it holds the lock of the directory and the open database.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/descriptor.h"
#include "results/results_store.h"
#include "results/sqlite.h"
#include "results/written_file.h"

namespace mgcompare {

class WritingSession {
 public:
  // Creates the directory and the file if they do not exist. Throws NotWritable, InUse, BadResults, and leaves nothing then that it created.
  explicit WritingSession(const std::string& directory);
  // Leaves one plain file, unless another one has taken its place. Of a run that ended before it began, with a refusal, it leaves nothing: the
  // file and the directory go if this session created them and nothing else is in it.
  ~WritingSession();
  WritingSession(const WritingSession&) = delete;
  WritingSession& operator=(const WritingSession&) = delete;

  const std::string& directory() const { return directory_; }
  const std::string& path() const { return path_; }
  const Database& database() const { return *database_; }
  // Numbers of the trials that this session may run, and of those whose rows it wrote again, because another program had changed them.
  std::set<int>& planned() { return planned_; }
  std::set<int>& restored() { return restored_; }
  // SHA-256 of the program and its back ends when this session began its work.
  std::map<std::string, std::string>& builds() { return builds_; }

  // Runs `work` in one transaction. It is on disk, in the file that the path leads to, when this returns. Throws NotWritable
  // if that is another file now: before `work`, so that nothing is written into it, or after it.
  void commit(const std::function<void()>& work);
  Run read();
  // Throws NotWritable as commit() does, and if the given path leads to another folder by now: files that are named by it would be written
  // there. Results go to the folder of the lock all the same.
  void check_path();

 private:
  void begin();
  void take_lock();
  void record_session();
  void check_in_place();
  bool has_begun() const;

  std::string directory_;
  std::string path_;
  std::string real_path_;           // without links
  Descriptor lock_;
  std::optional<Database> database_;
  std::optional<WrittenFile> file_;
  std::string token_;               // that this session alone has stored
  std::int64_t commits_ = 0;
  bool made_directory_ = false, made_file_ = false;
  std::set<int> planned_, restored_;
  std::map<std::string, std::string> builds_;
};

}  // namespace mgcompare
