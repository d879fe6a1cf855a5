// Database: a connection to an SQLite database, and statements over it. Threads: one at a time.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "h5mount/tree/catalogue_row.h"

namespace h5mount::store {

// The columns of a row in the table; those of the row itself follow in the order of tree::kCatalogueTexts.
enum Column : std::uint8_t {
  Identity,
  Stamp,
  Bytes,
  Maker,
  Number,
  Last,
  Sum,
  Source,
  Size,
  Mtime,
  FirstText
};

// A prepared statement, reset when it goes out of scope. Parameters are numbered from 1, columns from 0.
class Query {
 public:
  // `damaged` is set if the database turns out not to be sound.
  Query(sqlite3_stmt* statement, bool& damaged) : statement_(statement), damaged_(damaged) {}
  ~Query() {
    if (statement_ == nullptr) return;
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  Query& bind(int at, std::uint64_t number) {
    sqlite3_bind_int64(statement_, at, static_cast<sqlite3_int64>(number));
    return *this;
  }
  // The bytes must outlive the query.
  Query& bind(int at, const std::string& bytes) {
    sqlite3_bind_blob64(statement_, at, bytes.data(), bytes.size(), SQLITE_STATIC);
    return *this;
  }
  int step();
  bool done() { return step() == SQLITE_DONE; }

  std::uint64_t number(int column) const {
    return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column));
  }
  std::string_view bytes(int column) const {
    const void* at = sqlite3_column_blob(statement_, column);
    const int size = sqlite3_column_bytes(statement_, column);
    if (at == nullptr || size <= 0) return {};
    return {static_cast<const char*>(at), static_cast<std::size_t>(size)};
  }

 private:
  sqlite3_stmt* const statement_;
  bool& damaged_;
};

class Database {
 public:
  Database() = default;
  ~Database() { close(); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // `file` exists, and belongs to this user. Returns false if SQLite cannot use it, or if it lacks something
  // that this program writes; is_damaged() then tells whether that is permanent.
  bool open(const std::string& file, std::uint64_t most_bytes);
  void close();
  explicit operator bool() const { return handle_ != nullptr; }

  bool is_damaged() const { return damaged_; }
  // Whether the last statement found no room.
  bool is_full() const;
  bool run(const char* statement);
  // Rolls back a transaction, unless SQLite has ended it itself, as it does if there is no room.
  void roll_back();

  // The rows of (1 identity, 2 stamp, 3 bytes, 4 maker) in order, with the columns of the table.
  Query find() { return {find_, damaged_}; }
  Query remove() { return {remove_, damaged_}; }  // those of (1 identity, 2 maker)
  // A row; parameters as the columns, each one higher.
  Query add() { return {add_, damaged_}; }
  // 0 identity, of the files of (1 source, 2 maker).
  Query files() { return {files_, damaged_}; }
  // Removes the rows that are not of (1 source, 2 maker).
  Query remove_others() { return {remove_others_, damaged_}; }

 private:
  bool succeeds(int code);
  bool has_schema();

  sqlite3* handle_ = nullptr;
  bool damaged_ = false;
  sqlite3_stmt *find_ = nullptr, *remove_ = nullptr, *add_ = nullptr, *files_ = nullptr,
               *remove_others_ = nullptr;
};

}  // namespace h5mount::store
