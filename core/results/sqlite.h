#pragma once

// The part of SQLite that the results need. No other file includes sqlite3.h. Not thread-safe.
//
// Files may come from an untrusted source. Nothing in their schema runs: no triggers, views, extensions, attached files or
// functions with side effects. A statement ends with an error after kMostInstructions.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mgcompare/error.h"

namespace mgcompare {

// An error of SQLite, with its message. The caller adds the file and the operation.
class DatabaseError : public Error {
 public:
  // `for_reading`: the file was opened for reading only. `instructions`: those of the statement that failed. `system_error`: that of
  // a limit of this process, or 0.
  DatabaseError(int code, const std::string& text, bool for_reading, std::int64_t instructions, int system_error = 0)
      : Error(text), code_(code), for_reading_(for_reading), instructions_(instructions), system_error_(system_error) {}
  // The file is damaged or not a database.
  bool damaged() const;
  bool cannot_read() const;
  bool cannot_write() const;
  bool disk_full() const;
  // By a limit of this process, such as that on the size of a file. The text names it.
  bool by_limit() const;
  // Another program holds a lock.
  bool busy() const;
  // By interrupt_reading_if().
  bool interrupted() const;
  // After kMostInstructions.
  bool too_much_work() const;
  // Another file has the path now, or none.
  bool moved() const;
  // The file was opened for reading, but its last writer left it in a state that only a writer can complete.
  bool needs_writer() const;

 private:
  bool is_access_error() const;

  int code_;
  bool for_reading_;
  std::int64_t instructions_;
  int system_error_;
};

using Value = std::variant<std::nullptr_t, std::int64_t, double, std::string>;

// Instructions of SQLite's virtual machine. Reading the largest results takes a tenth of this number.
inline constexpr std::int64_t kMostInstructions = 1'000'000'000;

// Polled while a database works, until ignore_interruptions(): true ends the statement with an error. For signals.
void interrupt_reading_if(bool (*interrupted)());
bool is_reading_interrupted();

// One row of a query. Columns are counted from 0. NULL is read as 0, nan or "".
class Columns {
 public:
  explicit Columns(void* statement) : statement_(statement) {}
  int count() const;
  std::string_view name(int column) const;
  Value value(int column) const;
  std::int64_t integer(int column) const;
  double number(int column) const;
  std::string text(int column) const;

 private:
  void* statement_;
};

class Database {
 public:
  // `create` makes the file, and `read_own` and `write_own` open one that this process has written: signals end no statement in them.
  enum class Mode { read, read_own, write, write_own, create };
  // `path` may have no symbolic link, not even in its folders.
  Database(const std::string& path, Mode mode);

  // One statement, with values for its parameters. All methods throw DatabaseError.
  void run(const std::string& sql, const std::vector<Value>& values = {}) const;
  void query(const std::string& sql, const std::vector<Value>& values,
             const std::function<void(const Columns&)>& row) const;
  // Several statements without parameters.
  void script(const std::string& sql) const;
  // Runs `work` in one transaction; rolls it back if `work` throws.
  void commit(const std::function<void()>& work) const { transaction("BEGIN IMMEDIATE", work); }
  // Runs `work` in a read transaction: all its queries see the same state.
  void snapshot(const std::function<void()>& work) const { transaction("BEGIN", work); }

  std::int64_t integer(const std::string& sql) const;
  std::string text(const std::string& sql) const;

  // From now on signals end no statement: what was measured is written.
  void ignore_interruptions() const { work_->can_interrupt = false; }

  // Whether the path no longer leads to the open file.
  bool moved() const;
  // Bytes of the open file itself, without what is only in its log. Fewer than `size` at its end.
  std::string file_bytes(std::int64_t from, std::size_t size) const;
  // Nothing more is written to the file, also when it is closed. Its log stays beside it.
  void abandon() const;

 private:
  struct Close {
    void operator()(void* handle) const;
  };
  struct Work {
    std::int64_t instructions = 0;  // of the current statement
    bool can_interrupt = true;
  };
  static int watch(void* work);
  [[noreturn]] void fail(int code, const std::string& text) const;
  [[noreturn]] void fail() const;
  void transaction(const char* begin, const std::function<void()>& work) const;
  bool for_reading_;
  std::unique_ptr<Work> work_;
  std::unique_ptr<void, Close> handle_;
};

}  // namespace mgcompare
