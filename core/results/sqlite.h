#pragma once

// As much of SQLite as the results need; the only user of its header. One thread at a time.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "mgcompare/error.h"

namespace mgcompare {

// What SQLite said, in its words; the caller knows what it was doing and to what.
class DatabaseError : public Error {
 public:
  DatabaseError(int code, const std::string& text) : Error(text), code_(code) {}
  // The file is not a database, or a damaged one.
  bool damaged() const;
  bool cannot_write() const;

 private:
  int code_;
};

using Value = std::variant<std::nullptr_t, std::int64_t, double, std::string>;

// One row of an answer; columns are counted from 0. NULL reads as 0, nan or "".
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

  // One statement with values for its question marks. Throws DatabaseError.
  void run(const std::string& sql, const std::vector<Value>& values = {}) const;
  void query(const std::string& sql, const std::vector<Value>& values,
             const std::function<void(const Columns&)>& row) const;
  // Several statements without values.
  void script(const std::string& sql) const;
  // All of `work` in one commit, or nothing of it where it throws.
  void commit(const std::function<void()>& work) const { transaction("BEGIN IMMEDIATE", work); }
  // All that `work` reads is of one moment.
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
