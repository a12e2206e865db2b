#pragma once

// The part of SQLite that the results need. No other file includes sqlite3.h. Not thread-safe.
//
// Files may come from an untrusted source. Nothing in their schema runs: no triggers, views, extensions, attached files or
// functions with side effects. A statement ends with an error after kMostInstructions.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "mgcompare/error.h"

namespace mgcompare {

// An error of SQLite, with its message. The caller adds the file and the operation.
class DatabaseError : public Error {
 public:
  DatabaseError(int code, const std::string& text) : Error(text), code_(code) {}
  // The file is damaged or not a database.
  bool damaged() const;
  bool cannot_write() const;
  bool disk_full() const;
  // By interrupt_reading_if(), or after kMostInstructions.
  bool interrupted() const;
  // Another file has the path now, or none.
  bool moved() const;

 private:
  int code_;
};

using Value = std::variant<std::nullptr_t, std::int64_t, double, std::string>;

// Instructions of SQLite's virtual machine. Reading the largest results takes a tenth of this number.
inline constexpr std::int64_t kMostInstructions = 1'000'000'000;

// Polled while a database that was opened for reading works: true ends the statement with an error. For signals.
void interrupt_reading_if(bool (*interrupted)());

// One row of a query. Columns are counted from 0. NULL is read as 0, nan or "".
class Columns {
 public:
  explicit Columns(void* statement) : statement_(statement) {}
  int count() const;
  std::string name(int column) const;
  Value value(int column) const;
  std::int64_t integer(int column) const;
  double number(int column) const;
  std::string text(int column) const;

 private:
  void* statement_;
};

class Database {
 public:
  enum class Mode { read, write, create };
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

  // Whether the path no longer leads to the open file.
  bool moved() const;

 private:
  struct Close {
    void operator()(void* handle) const;
  };
  struct Work {
    std::int64_t instructions = 0;  // of the current statement
    bool can_interrupt = false;
  };
  static int watch(void* work);
  void transaction(const char* begin, const std::function<void()>& work) const;
  std::unique_ptr<Work> work_;
  std::unique_ptr<void, Close> handle_;
};

}  // namespace mgcompare
