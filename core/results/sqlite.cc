#include "results/sqlite.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <utility>

#include "base/error_text.h"

namespace mgcompare {
namespace {

// Between two looks at signals and at the number of instructions: less than a millisecond.
constexpr int kInstructionsBetweenLooks = 10'000;

bool (*reading_interrupted)() = [] { return false; };

// What no results file comes near.
constexpr auto kLimits = std::to_array<std::pair<int, int>>({{SQLITE_LIMIT_LENGTH, 256 << 20},
                                                              {SQLITE_LIMIT_SQL_LENGTH, 100'000},
                                                              {SQLITE_LIMIT_COLUMN, 100},
                                                              {SQLITE_LIMIT_EXPR_DEPTH, 20},
                                                              {SQLITE_LIMIT_COMPOUND_SELECT, 4},
                                                              {SQLITE_LIMIT_VDBE_OP, 25'000},
                                                              {SQLITE_LIMIT_FUNCTION_ARG, 8},
                                                              {SQLITE_LIMIT_ATTACHED, 0},
                                                              {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50},
                                                              {SQLITE_LIMIT_VARIABLE_NUMBER, 100},
                                                              {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
                                                              {SQLITE_LIMIT_WORKER_THREADS, 0}});

constexpr auto kSwitches = std::to_array<std::pair<int, int>>({{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                                                {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                                                {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                                                {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                                                {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
                                                                {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}});

sqlite3* native(void* handle) { return static_cast<sqlite3*>(handle); }
sqlite3_stmt* native_statement(void* statement) { return static_cast<sqlite3_stmt*>(statement); }

using Statement = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

// Null after an error.
Statement prepare(sqlite3* handle, const std::string& sql, const std::vector<Value>& values) {
  sqlite3_stmt* raw = nullptr;
  const int problem = sqlite3_prepare_v2(handle, sql.c_str(), -1, &raw, nullptr);
  Statement statement(raw, sqlite3_finalize);
  if (problem != SQLITE_OK) return {nullptr, sqlite3_finalize};
  int place = 0;
  for (const Value& value : values) {
    ++place;
    int code = SQLITE_OK;
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      code = sqlite3_bind_int64(raw, place, *integer);
    } else if (const auto* number = std::get_if<double>(&value)) {
      code = sqlite3_bind_double(raw, place, *number);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      code = sqlite3_bind_text64(raw, place, text->data(), text->size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    } else {
      code = sqlite3_bind_null(raw, place);
    }
    if (code != SQLITE_OK) return {nullptr, sqlite3_finalize};
  }
  return statement;
}

// The error of the last call of the system on the file or its journal that failed.
int last_error(sqlite3* handle, int what) {
  sqlite3_file* file = nullptr;
  int error = 0;
  if (sqlite3_file_control(handle, "main", what, &file) == SQLITE_OK && file != nullptr && file->pMethods != nullptr)
    file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &error);
  return error;
}

// The error of the system if a limit of this process is behind the error `code`; else 0.
int system_error_of(sqlite3* handle, int code) {
  if (handle == nullptr) return 0;
  if ((code & 0xff) == SQLITE_CANTOPEN && sqlite3_system_errno(handle) == EMFILE) return EMFILE;
  if ((code & 0xff) != SQLITE_IOERR && (code & 0xff) != SQLITE_FULL) return 0;
  for (const int file : {SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER})
    if (last_error(handle, file) == EFBIG) return EFBIG;
  return 0;
}

}  // namespace

bool DatabaseError::damaged() const {
  const int code = code_ & 0xff;
  return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_FORMAT || code == SQLITE_ERROR;
}

bool DatabaseError::is_access_error() const {
  const int code = code_ & 0xff;
  return code == SQLITE_READONLY || code == SQLITE_FULL || code == SQLITE_IOERR || code == SQLITE_CANTOPEN ||
         code == SQLITE_PERM;
}

bool DatabaseError::cannot_read() const {
  return code_ == SQLITE_IOERR_READ || code_ == SQLITE_IOERR_SHORT_READ || (for_reading_ && is_access_error());
}

bool DatabaseError::cannot_write() const { return is_access_error() && !cannot_read(); }

bool DatabaseError::needs_writer() const {
  const int code = code_ & 0xff;
  return for_reading_ && (code == SQLITE_READONLY || code == SQLITE_CANTOPEN);
}

bool DatabaseError::busy() const {
  const int code = code_ & 0xff;
  return code == SQLITE_BUSY || code == SQLITE_LOCKED;
}

bool DatabaseError::interrupted() const { return (code_ & 0xff) == SQLITE_INTERRUPT && !too_much_work(); }

bool DatabaseError::too_much_work() const {
  return (code_ & 0xff) == SQLITE_INTERRUPT && instructions_ > kMostInstructions;
}

bool DatabaseError::by_limit() const { return is_access_error() && system_error_ != 0; }

bool DatabaseError::disk_full() const { return (code_ & 0xff) == SQLITE_FULL; }

bool DatabaseError::moved() const { return code_ == SQLITE_READONLY_DBMOVED; }

void interrupt_reading_if(bool (*interrupted)()) { reading_interrupted = interrupted; }

bool is_reading_interrupted() { return reading_interrupted(); }

int Columns::count() const { return sqlite3_column_count(native_statement(statement_)); }

std::string_view Columns::name(int column) const { return sqlite3_column_name(native_statement(statement_), column); }

Value Columns::value(int column) const {
  switch (sqlite3_column_type(native_statement(statement_), column)) {
    case SQLITE_NULL: return nullptr;
    case SQLITE_INTEGER: return integer(column);
    case SQLITE_FLOAT: return number(column);
    default: return text(column);
  }
}

std::int64_t Columns::integer(int column) const { return sqlite3_column_int64(native_statement(statement_), column); }

double Columns::number(int column) const {
  if (sqlite3_column_type(native_statement(statement_), column) == SQLITE_NULL)
    return std::numeric_limits<double>::quiet_NaN();
  return sqlite3_column_double(native_statement(statement_), column);
}

std::string Columns::text(int column) const {
  const auto* text = sqlite3_column_text(native_statement(statement_), column);
  const int bytes = sqlite3_column_bytes(native_statement(statement_), column);
  return text == nullptr ? "" : std::string(reinterpret_cast<const char*>(text), static_cast<std::size_t>(bytes));
}

int Database::watch(void* work) {
  auto& self = *static_cast<Work*>(work);
  self.instructions += kInstructionsBetweenLooks;
  return self.instructions > kMostInstructions || (self.can_interrupt && reading_interrupted()) ? 1 : 0;
}

Database::Database(const std::string& path, Mode mode)
    : for_reading_(mode == Mode::read || mode == Mode::read_own), work_(std::make_unique<Work>()) {
  const int flags = for_reading_ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | (mode == Mode::create ? SQLITE_OPEN_CREATE : 0);
  work_->can_interrupt = mode == Mode::read || mode == Mode::write;
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, nullptr);
  handle_.reset(raw);
  if (code != SQLITE_OK) fail(code, raw == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(raw));
  sqlite3_busy_timeout(raw, 5'000);
  for (const auto& [limit, value] : kLimits) sqlite3_limit(raw, limit, value);
  for (const auto& [name, value] : kSwitches) sqlite3_db_config(raw, name, value, nullptr);
  sqlite3_progress_handler(raw, kInstructionsBetweenLooks, watch, work_.get());
  script("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;");
}

void Database::Close::operator()(void* handle) const { sqlite3_close_v2(native(handle)); }

void Database::fail(int code, const std::string& text) const {
  const int system_error = system_error_of(native(handle_.get()), code);
  throw DatabaseError(code, system_error == 0 ? text : text + ": " + error_text(system_error), for_reading_, work_->instructions, system_error);
}

void Database::fail() const {
  sqlite3* const handle = native(handle_.get());
  fail(sqlite3_extended_errcode(handle), sqlite3_errmsg(handle));
}

void Database::run(const std::string& sql, const std::vector<Value>& values) const {
  query(sql, values, [](const Columns&) {});
}

void Database::query(const std::string& sql, const std::vector<Value>& values,
                     const std::function<void(const Columns&)>& row) const {
  sqlite3* const handle = native(handle_.get());
  work_->instructions = 0;
  const Statement statement = prepare(handle, sql, values);
  if (!statement) fail();
  int code = SQLITE_OK;
  while ((code = sqlite3_step(statement.get())) == SQLITE_ROW) {
    row(Columns(statement.get()));
    // What is done with a large row takes longer than reading it.
    if (work_->can_interrupt && reading_interrupted()) fail(SQLITE_INTERRUPT, "interrupted");
  }
  if (code != SQLITE_DONE) fail();
}

bool Database::moved() const {
  int moved = 0;
  return sqlite3_file_control(native(handle_.get()), "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0;
}

std::string Database::file_bytes(std::int64_t from, std::size_t size) const {
  sqlite3_file* file = nullptr;
  sqlite3_int64 end = 0;
  if (sqlite3_file_control(native(handle_.get()), "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
      file->pMethods->xFileSize(file, &end) != SQLITE_OK || from >= end)
    return "";
  std::string bytes(std::min(size, static_cast<std::size_t>(end - from)), '\0');
  return file->pMethods->xRead(file, bytes.data(), static_cast<int>(bytes.size()), from) == SQLITE_OK ? bytes : "";
}

void Database::abandon() const { sqlite3_db_config(native(handle_.get()), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr); }

void Database::script(const std::string& sql) const {
  work_->instructions = 0;
  if (sqlite3_exec(native(handle_.get()), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

void Database::transaction(const char* begin, const std::function<void()>& work) const {
  script(begin);
  try {
    work();
    script("COMMIT");
  } catch (...) {
    // After some errors SQLite has already rolled back; a second ROLLBACK would fail.
    if (sqlite3_get_autocommit(native(handle_.get())) == 0)
      sqlite3_exec(native(handle_.get()), "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

std::int64_t Database::integer(const std::string& sql) const {
  std::int64_t value = 0;
  query(sql, {}, [&](const Columns& row) { value = row.integer(0); });
  return value;
}

std::string Database::text(const std::string& sql) const {
  std::string value;
  query(sql, {}, [&](const Columns& row) { value = row.text(0); });
  return value;
}

}  // namespace mgcompare
