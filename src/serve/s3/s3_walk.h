// KeyWalk: the files below a directory of a tree in the order of their whole paths' bytes, which is that of
// the keys of a bucket: `a-b`, `a.b`, `a/c`, `a0`. It begins at any key at the cost of finding it, and holds
// the listings of the directories that it is in. Whether an entry is a directory is looked up only if its
// place depends on it, or when it is its turn. Threads: one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../http/request_work.h"
#include "h5mount/tree/files_read.h"
#include "s3_order.h"

namespace h5mount::serve {

// The longest key: with a longer path no system call could open the file in a mount.
inline constexpr std::size_t kMaxKey = 4096;

struct WalkedKey {
  std::string key;  // of a directory: ends with a slash
  bool directory = false;
  front::NodeReference node = {};  // only of a file
  tree::NodeStat stat = {};
  std::optional<Error> trouble = {};  // why it cannot be read; if set, there is no node
};

// The first text behind all texts that begin with `prefix`; empty if there is none.
std::string behind(std::string prefix);

class KeyWalk {
 public:
  // Walks the keys that begin with `prefix`. Deep: the keys of files. Otherwise a directory stands for
  // everything below it, unless the prefix leads into it.
  KeyWalk(std::shared_ptr<const Snapshot> snapshot, OrderCache& orders, std::string prefix, bool deep);

  // Goes to the first key that is not less than `from`.
  Status seek(std::string_view from, RequestWork& work);
  // The next key; nullopt at the end. Symlinks to files are files; those to directories, and those that lead
  // nowhere, are left out. A directory is a key of its own if it is empty, as S3's clients make directories,
  // or if it cannot be listed completely, with its `trouble`.
  Result<std::optional<WalkedKey>> next(RequestWork& work);
  // Fails if a file that was read for the keys has changed since.
  Status confirm_unchanged() const { return read_.confirm_unchanged(); }

 private:
  struct Level {
    std::string path;  // ends with a slash; empty for the root
    OrderedNamesPtr names;
    std::size_t next = 0, end = 0;
    // Ranks of directories that were passed: names that continue a directory's own come before the
    // directory's entries.
    std::vector<std::size_t> deferred = {};
  };
  Result<tree::Entry> find_entry(const Level& level, std::size_t rank, RequestBudget& budget);
  Result<bool> is_directory(const Level& level, std::size_t rank, RequestBudget& budget);
  Result<std::optional<std::size_t>> next_rank(Level& level, RequestBudget& budget);
  Status begin_level(std::string path, front::NodeReference directory, std::string_view prefix,
                     std::string_view bound, RequestBudget& budget);
  Result<std::optional<WalkedKey>> visit(const Level& level, std::size_t rank, RequestBudget& budget);
  Result<std::optional<WalkedKey>> follow(std::string key, RequestBudget& budget);
  std::optional<Error> trouble_with(const OrderedNames& names, RequestBudget& budget) const;
  Result<std::optional<WalkedKey>> enter(WalkedKey directory, RequestBudget& budget);

  const std::shared_ptr<const Snapshot> snapshot_;
  OrderCache& orders_;
  const std::string prefix_;
  const bool deep_;
  std::string from_;
  std::vector<Level> levels_;
  WalkedKey base_;  // the directory that the prefix names
  bool shows_base_ = false;
  tree::FilesRead read_;
};

}  // namespace h5mount::serve
