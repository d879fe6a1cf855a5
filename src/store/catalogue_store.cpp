#include "h5mount/store/catalogue_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "database.h"
#include "h5mount/base/hash.h"
#include "h5mount/base/log.h"
#include "h5mount/base/own_directory.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/base/unique_fd.h"

namespace h5mount::store {

namespace {

using tree::CatalogueStore;

constexpr const char* kFile = "catalogue.sqlite";

class SqliteStore final : public CatalogueStore {
 public:
  SqliteStore(UniqueFd directory, const std::string& path, const StoreUse& use)
      : directory_(std::move(directory)),
        file_(path + "/" + kFile),
        maker_(fnv1a(use.maker)),
        source_(fnv1a(use.source)),
        most_bytes_(use.most_bytes) {}

  // Whether the database can be used.
  bool begin() {
    return connect() != nullptr;  // closed at once: the process may fork
  }

  Result<bool> find(const Key& key, const Take& take) override {
    ConnectionPtr connection = connection_now();
    if (!connection) return false;
    auto found = find_in(connection->database, key, take);
    give_back(std::move(connection));
    return found;
  }

  void put(const Key& key, const Give& give) override {
    ConnectionPtr connection = connection_now();
    if (!connection) return;
    Database& database = connection->database;
    bool full = false;
    in_turn(database, [&] {
      const bool put = put_in(database, key, give);
      full = !put && database.is_full();
      return put;
    });
    if (full) make_place(database);
    give_back(std::move(connection));
  }

  void keep_only(const std::vector<std::uint64_t>& identities) override {
    ConnectionPtr connection = connection_now();
    if (!connection) return;
    Database& database = connection->database;
    in_turn(database, [&] {
      std::vector<std::uint64_t> gone;
      {
        Query files = database.files();
        files.bind(1, source_).bind(2, maker_);
        while (files.step() == SQLITE_ROW)
          if (!std::ranges::binary_search(identities, files.number(0))) gone.push_back(files.number(0));
      }
      return std::ranges::all_of(gone, [&](std::uint64_t identity) {
        return database.remove().bind(1, identity).bind(2, maker_).done();
      });
    });
    give_back(std::move(connection));
  }

 private:
  struct Connection {
    Database database;
    ino_t file = 0;
  };
  using ConnectionPtr = std::unique_ptr<Connection>;

  // Other writers wait for this one; it never waits for them once it has begun.
  template <class Write>
  static void in_turn(Database& database, Write&& write) {
    if (!database.run("BEGIN IMMEDIATE")) return;
    if (!write() || !database.run("COMMIT")) database.roll_back();
  }

  // Removes rows of other sources, so that there is room for rows of this source the next time that some
  // are put.
  void make_place(Database& database) const {
    log_once(LogLevel::Warning, file_ +
                                    ": is full: lines of other sources are removed, and no more remembered "
                                    "where that is not enough");
    in_turn(database, [&] { return database.remove_others().bind(1, source_).bind(2, maker_).done(); });
  }

  // The checksum detects changes made by hand or by a fault; somebody who may write here could also change
  // the checksum.
  std::uint64_t sum_of(const Key& key, std::uint64_t number, bool last, const tree::CatalogueRow& row) const {
    const std::uint64_t parts[] = {key.identity,         key.stamp, key.size, maker_, number, last ? 1U : 0U,
                                   fnv1a(row_bytes(row))};
    return fnv1a({reinterpret_cast<const char*>(parts), sizeof parts});
  }

  Result<bool> find_in(Database& database, const Key& key, const Take& take) const {
    Query query = database.find();
    query.bind(1, key.identity).bind(2, key.stamp).bind(3, key.size).bind(4, maker_);
    tree::CatalogueRow row;
    bool last = false;
    for (std::uint64_t number = 0; !last && query.step() == SQLITE_ROW; ++number) {
      last = query.number(Last) != 0;
      row.size = static_cast<std::int64_t>(query.number(Size));
      row.mtime = static_cast<std::int64_t>(query.number(Mtime));
      for (int column = FirstText; const tree::CatalogueText& of : tree::kCatalogueTexts)
        row.*of.text = query.bytes(column++);
      if (query.number(Number) != number || query.number(Sum) != sum_of(key, number, last, row)) return false;
      H5_TRY(take(row));
    }
    return last;
  }

  bool put_in(Database& database, const Key& key, const Give& give) const {
    if (!database.remove().bind(1, key.identity).bind(2, maker_).done()) return false;
    tree::CatalogueRow row, next;
    auto more = give(row);
    for (std::uint64_t number = 0; more && *more; ++number) {
      more = give(next);
      if (!more) return false;
      const bool last = !*more;
      Query query = database.add();
      const std::uint64_t numbers[] = {key.identity,
                                       key.stamp,
                                       key.size,
                                       maker_,
                                       number,
                                       std::uint64_t{last},
                                       sum_of(key, number, last, row),
                                       source_,
                                       static_cast<std::uint64_t>(row.size),
                                       static_cast<std::uint64_t>(row.mtime)};
      int parameter = 1;
      for (const std::uint64_t value : numbers) query.bind(parameter++, value);
      for (const tree::CatalogueText& of : tree::kCatalogueTexts) query.bind(parameter++, row.*of.text);
      if (!query.done()) return false;
      std::swap(row, next);
    }
    return more.has_value();
  }

  // The database's present inode: another mount may have made the database anew.
  ino_t file_now() const {
    struct stat st = {};
    const bool sound = ::fstatat(directory_.get(), kFile, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                       S_ISREG(st.st_mode) && st.st_uid == ::geteuid();
    return sound ? st.st_ino : 0;
  }

  ConnectionPtr connection_now() {
    ConnectionPtr idle;
    {
      const MutexLock lock(mutex_);
      if (!idle_.empty()) {
        idle = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    if (idle && idle->file == file_now()) return idle;
    return connect();
  }

  void give_back(ConnectionPtr connection) {
    if (connection->database.is_damaged()) return forget_all(std::move(connection));
    const MutexLock lock(mutex_);
    idle_.push_back(std::move(connection));
  }

  ConnectionPtr connect() {
    auto out = std::make_unique<Connection>();
    if (open(*out)) return out;
    if (out->database.is_damaged()) {
      forget_all(std::move(out));
      out = std::make_unique<Connection>();
      if (open(*out)) return out;
    }
    log_once(LogLevel::Warning, file_ + ": cannot be used now: nothing is remembered");
    return nullptr;
  }

  bool open(Connection& to) const {
    constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    const UniqueFd made(::openat(directory_.get(), kFile, kFlags, 0600));
    to.file = file_now();
    return made && to.file != 0 && to.database.open(file_, most_bytes_);
  }

  // Removes the damaged database, so that it is made anew; one mount at a time, so that none removes what
  // another has just made.
  void forget_all(ConnectionPtr damaged) const {
    const ino_t file = damaged->file;
    damaged.reset();
    const UniqueFd turn(::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ::flock(turn.get(), LOCK_EX);
    if (file_now() != file) return;
    log(LogLevel::Warning, "{}: is damaged or of another version, and is made anew", file_);
    ::unlinkat(directory_.get(), kFile, 0);
    ::unlinkat(directory_.get(), (std::string(kFile) + "-journal").c_str(), 0);
  }

  const UniqueFd directory_;
  const std::string file_;
  const std::uint64_t maker_, source_, most_bytes_;
  Mutex mutex_;
  std::vector<ConnectionPtr> idle_ H5_GUARDED_BY(mutex_);
};

// Whether others can put another directory in the place of the one at `path`, which has no symlinks.
bool others_may_replace(const std::string& path) {
  for (std::filesystem::path place = std::filesystem::path(path).parent_path();;
       place = place.parent_path()) {
    struct stat st = {};
    if (::stat(place.c_str(), &st) != 0) return true;
    const bool others_write = (st.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (st.st_mode & S_ISVTX) == 0;
    if (others_write || (st.st_uid != 0 && st.st_uid != ::geteuid())) return true;
    if (!place.has_relative_path()) return false;
  }
}

}  // namespace

Result<std::shared_ptr<tree::CatalogueStore>> open_catalogue_store(const std::string& directory,
                                                                   const StoreUse& use) {
  H5_ASSIGN(UniqueFd fd, open_own_directory(directory));
  char real[PATH_MAX];
  if (::realpath(directory.c_str(), real) == nullptr) return fail(io_error(errno, directory));
  if (others_may_replace(real))
    return fail({ErrorCode::AccessDenied, directory + ": others may write in a directory above it, and put "
                                                      "another one in its place"});
  auto out = std::make_shared<SqliteStore>(std::move(fd), real, use);
  if (!out->begin()) return fail({ErrorCode::Io, directory + ": no database can be made there"});
  return out;
}

}  // namespace h5mount::store
