// PlaceTable: the places of a forest that somebody knows, by id and by name: its directories, its files, its
// symlinks. Each place is small, as there may be millions. A place belongs to one file for ever: when another
// file gets its name, the name gets a new place, and the old one is known only by its id. Threads: any.
//
// Whether another file has the name is seen by a stat when the place is looked at, and by inotify
// (directory_watch.h). The places of a directory are a list: an overflow of inotify's queue, after which
// every directory may have changed, then costs what is known and not its product with the directories.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/tree/forest.h"

namespace h5mount::tree {

// The things that belong to a place besides its name: the entries of a directory, or the tree of a file.
struct PlaceContent {
  PlaceContent() = default;
  virtual ~PlaceContent() = default;
  PlaceContent(const PlaceContent&) = delete;
  PlaceContent& operator=(const PlaceContent&) = delete;
  // Whether the content is kept although nobody knows the place any more.
  virtual bool in_use() const { return false; }
};

// A directory of a forest.
struct Folder final : PlaceContent {
  Folder(ForestDirectoryPtr of, std::string at, NodeId its_id)
      : source(std::move(of)), path(std::move(at)), id(its_id) {}
  const ForestDirectoryPtr source;
  const std::string path;  // in the forest; empty: the root
  const NodeId id;
  std::atomic<bool> watched = false;
  std::atomic<bool> unreported = false;      // nothing tells changes of it
  std::atomic<std::uint64_t> looked_at = 0;  // for DirectoryWatch: the time of the last look
  NodeId first_place = 0;  // for PlaceTable, under its lock: of a list of the places in it; 0: none
  std::string path_of(std::string_view name) const {
    return path.empty() ? std::string(name) : path + "/" + std::string(name);
  }
};
using FolderPtr = std::shared_ptr<Folder>;

struct Place {
  FolderPtr in;  // the directory that it is in; null: the root
  std::string name;
  ForestEntry::Kind kind = ForestEntry::Kind::Directory;
  std::uint64_t identity = 0;
  bool detached = false;  // its name belongs to another file, or to none
  std::shared_ptr<PlaceContent> content;

  std::string path() const { return in ? in->path_of(name) : std::string(); }
};

class PlaceTable {
 public:
  explicit PlaceTable(FolderPtr root);

  std::optional<Place> find(NodeId id) const;
  NodeId find_name(const Folder& in, std::string_view name) const;  // 0: nobody knows it

  // Counts a reference to the place of that name; makes the place if there is none of this kind and identity.
  // `detached`: the place of another file that had the name before; 0: none.
  struct Adopted {
    NodeId id = 0, detached = 0;
  };
  Adopted adopt(const FolderPtr& in, std::string_view name, ForestEntry::Kind kind, std::uint64_t identity);
  // The place's content, which is made if it has none yet; null if nobody knows the place.
  template <class Content, class Make>
  std::shared_ptr<Content> content(NodeId id, Make&& make) {
    const MutexLock lock(mutex_);
    const auto found = places_.find(id);
    if (found == places_.end()) return nullptr;
    if (!found->second.content) found->second.content = make(found->second.in, found->second.name.get());
    return std::static_pointer_cast<Content>(found->second.content);
  }
  void forget(NodeId id, std::uint64_t count);
  // The content of the place is no longer in use: the place is dropped if nobody knows it.
  void release(NodeId id) { forget(id, 0); }
  void detach(NodeId id);

  std::vector<std::string> names_in(const Folder& in) const;  // those known
  std::size_t size() const;
  // How many places `names_in` has looked at so far.
  std::uint64_t looked_at() const;

 private:
  struct Stored {
    FolderPtr in;
    std::unique_ptr<char[]> name;
    std::uint64_t identity;
    std::shared_ptr<PlaceContent> content;
    std::uint32_t lookups;
    ForestEntry::Kind kind;
    bool detached;
    NodeId before = 0, after = 0;  // in the list of its directory's places; 0: it is the first, or the last
  };
  using Places = std::unordered_map<NodeId, Stored>;

  // Names are found by their directory and text, but only the ids are stored.
  struct Name {
    const Folder* in;
    std::string_view name;
  };
  struct NameHash {
    using is_transparent = void;
    const PlaceTable* table;
    std::size_t operator()(const Name& name) const;
    std::size_t operator()(NodeId id) const;
  };
  struct NameEqual {
    using is_transparent = void;
    const PlaceTable* table;
    bool operator()(NodeId a, NodeId b) const { return a == b; }
    bool operator()(const Name& a, NodeId b) const;
    bool operator()(NodeId a, const Name& b) const { return (*this)(b, a); }
  };
  Name name_of(NodeId id) const;
  void give_name(Places::iterator place) H5_REQUIRES(mutex_);
  void take_name(Places::iterator place) H5_REQUIRES(mutex_);

  const FolderPtr root_;
  mutable Mutex mutex_;
  Places places_ H5_GUARDED_BY(mutex_);
  std::unordered_set<NodeId, NameHash, NameEqual> names_ H5_GUARDED_BY(mutex_);
  mutable std::uint64_t looked_at_ H5_GUARDED_BY(mutex_) = 0;
  NodeId next_ H5_GUARDED_BY(mutex_) = 64;  // those before are the root's and the hidden directory's
};

}  // namespace h5mount::tree
