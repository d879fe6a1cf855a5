#include "database.h"

#include <algorithm>

namespace h5mount::store {

namespace {

// Another number means another table: a database that has it is made anew. Those before 2 had none.
constexpr const char* kMakeTable =
    "BEGIN IMMEDIATE; "
    "CREATE TABLE IF NOT EXISTS row(identity INTEGER, stamp INTEGER, bytes INTEGER, maker INTEGER, "
    "number INTEGER, last INTEGER, sum INTEGER, source INTEGER, size INTEGER, mtime INTEGER, path BLOB, "
    "kind BLOB, shape BLOB, dtype BLOB, attributes BLOB, value BLOB, error BLOB, more BLOB, "
    "PRIMARY KEY(identity, maker, number)) WITHOUT ROWID; "
    "PRAGMA user_version = 2; COMMIT";
constexpr std::string_view kVersion = "2,";
constexpr const char* kVersionAndTables =
    "SELECT user_version, (SELECT count(*) FROM sqlite_master) FROM pragma_user_version";
constexpr const char* kFind =
    "SELECT * FROM row WHERE identity = ?1 AND stamp = ?2 AND bytes = ?3 AND maker = ?4 ORDER BY number";
constexpr const char* kRemove = "DELETE FROM row WHERE identity = ?1 AND maker = ?2";
constexpr const char* kAdd =
    "INSERT INTO row VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)";
constexpr const char* kFiles = "SELECT identity FROM row WHERE source = ?1 AND maker = ?2 AND number = 0";
constexpr const char* kRemoveOthers = "DELETE FROM row WHERE source <> ?1 OR maker <> ?2";

constexpr int kBusyMilliseconds = 500;
constexpr std::uint64_t kPageBytes = 4096;  // as SQLite makes them

bool is_damage(int code) {
  return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR || code == SQLITE_SCHEMA ||
         code == SQLITE_MISMATCH || code == SQLITE_FORMAT || code == SQLITE_TOOBIG;
}

}  // namespace

int Query::step() {
  if (statement_ == nullptr) return SQLITE_ERROR;
  const int code = sqlite3_step(statement_);
  damaged_ = damaged_ || is_damage(code & 0xFF);
  return code;
}

bool Database::succeeds(int code) {
  damaged_ = damaged_ || is_damage(code & 0xFF);
  return code == SQLITE_OK;
}

bool Database::run(const char* statement) {
  return succeeds(sqlite3_exec(handle_, statement, nullptr, nullptr, nullptr));
}

bool Database::is_full() const {
  return (sqlite3_errcode(handle_) & 0xFF) == SQLITE_FULL;
}

void Database::roll_back() {
  if (sqlite3_get_autocommit(handle_) == 0) run("ROLLBACK");
}

// Whether the table is there; an empty database gets it.
bool Database::has_schema() {
  std::string found;
  const auto take = [](void* to, int, char** values, char**) {
    *static_cast<std::string*>(to) = std::string(values[0]) + "," + values[1];
    return 0;
  };
  if (!succeeds(sqlite3_exec(handle_, kVersionAndTables, take, &found, nullptr))) return false;
  if (found == "0,0") return run(kMakeTable);
  if (!found.starts_with(kVersion)) damaged_ = true;
  return !damaged_;
}

bool Database::open(const std::string& file, std::uint64_t most_bytes) {
  close();
  damaged_ = false;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW;
  bool good = succeeds(sqlite3_open_v2(file.c_str(), &handle_, flags, nullptr));
  if (good) {
    sqlite3_busy_timeout(handle_, kBusyMilliseconds);
    sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, tree::kMaxRowBytes + 4096);
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    // A database that a power failure or the end of this process damages is made again, so writes need not be
    // safe.
    good = run("PRAGMA cell_size_check = ON; PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY");
    const std::uint64_t pages = std::max<std::uint64_t>(most_bytes / kPageBytes, 1);
    good = good && run(("PRAGMA max_page_count = " + std::to_string(pages)).c_str());
  }
  good = good && has_schema();
  const auto prepare = [&](const char* text, sqlite3_stmt*& statement) {
    return succeeds(sqlite3_prepare_v3(handle_, text, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr));
  };
  good = good && prepare(kFind, find_) && prepare(kRemove, remove_) && prepare(kAdd, add_) &&
         prepare(kFiles, files_) && prepare(kRemoveOthers, remove_others_);
  if (!good) close();
  return good;
}

void Database::close() {
  for (sqlite3_stmt** statement : {&find_, &remove_, &add_, &files_, &remove_others_}) {
    sqlite3_finalize(*statement);
    *statement = nullptr;
  }
  sqlite3_close(handle_);
  handle_ = nullptr;
}

}  // namespace h5mount::store
