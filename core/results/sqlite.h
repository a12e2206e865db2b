#pragma once

// The part of SQLite that the results need. No other file includes sqlite3.h. Not thread-safe.

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

 private:
  int code_;
};

using Value = std::variant<std::nullptr_t, std::int64_t, double, std::string>;

// One row of a query. Columns are counted from 0. NULL is read as 0, nan or "".
class Columns {
 public:
  explicit Columns(void* statement) : statement_(statement) {}
  std::int64_t integer(int column) const;
  double number(int column) const;
  std::string text(int column) const;

 private:
  void* statement_;
};

class Database {
 public:
  enum class Mode { read, write, create };
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

 private:
  struct Close {
    void operator()(void* handle) const;
  };
  void transaction(const char* begin, const std::function<void()>& work) const;
  std::unique_ptr<void, Close> handle_;
};

}  // namespace mgcompare
