// ObjectPaths: the path of every object at which a breadth-first walk from the root over hard links, names in
// byte order, first meets it. It determines at which of its paths a group with several hard links is shown,
// and the path of a reference in a value. Made once, on first use: most files never need it. Immutable;
// threads: any.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "h5mount/base/limits.h"
#include "h5mount/object/object.h"
#include "h5mount/object/walk_ahead.h"

namespace h5mount::tree {

class ObjectPaths {
 public:
  // Objects that cannot be opened have a path too; damaged links and unreadable groups are skipped. The walk
  // ends after `most` objects.
  static std::shared_ptr<const ObjectPaths> walk(const metadata::FileMetadataPtr& file,
                                                 std::size_t most = limits::kMaxWalkedObjects);

  // True if the link `name` of the group at `parent` is the object's path.
  bool is_canonical(std::uint64_t address, std::uint64_t parent, std::string_view name) const;

  // The names from the root to the object (none for the root itself); nullopt if no walked path leads to it.
  std::optional<std::vector<std::string_view>> names_to(std::uint64_t address) const;

  // "/a/b"; the root is "/".
  std::optional<std::string> path_to(std::uint64_t address) const;

 private:
  struct Entry {
    std::uint64_t address = 0;
    std::size_t name_offset = 0;  // into names_
    std::uint32_t name_length = 0;
    std::uint32_t parent = 0;  // index of an entry; the root is its own
  };
  std::string_view name_of(const Entry& entry) const {
    return std::string_view(names_).substr(entry.name_offset, entry.name_length);
  }
  std::optional<std::uint32_t> index_of(std::uint64_t address) const;
  struct Ahead {
    object::WalkAhead walk;
    RequestBudget budget = {};  // of this alone: paths that are not asked for ahead are found all the same
  };
  void add_children(const metadata::FileMetadataPtr& file, const object::Object& group, std::uint32_t parent,
                    std::vector<std::uint32_t>& groups, Ahead& ahead);

  // Bounds the walk over all groups together: groups of a hostile file may share one store of links, or one
  // long header. In a sound file links, names and headers do not overlap, so the file's size bounds them.
  struct Budget {
    std::size_t links = 0;
    std::uint64_t bytes = 0;
    bool spent() const { return links == 0 || bytes == 0; }
    void take(std::uint64_t taken) { bytes -= std::min(bytes, taken); }
  };

  std::size_t most_ = limits::kMaxWalkedObjects;
  Budget left_;
  std::vector<Entry> entries_;
  std::string names_;
  std::unordered_map<std::uint64_t, std::uint32_t> index_;
};

}  // namespace h5mount::tree
