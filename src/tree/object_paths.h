// ObjectPaths: where every object of a file is first met by a breadth-first walk from the root over hard
// links, names in byte order. It says at which of its paths a group with several hard links is shown, and
// what path a reference in a value has. Made once, on first need: most files never pay for it. Immutable;
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

namespace h5mount::tree {

class ObjectPaths {
 public:
  // Objects that cannot be opened have a place; damaged links and unreadable groups are passed over. Ends at
  // limits::kMaxWalkedObjects.
  static std::shared_ptr<const ObjectPaths> walk(const metadata::FileMetadataPtr& file);

  // True where the object's place is the link `name` of the group at `parent`.
  bool is_canonical(std::uint64_t address, std::uint64_t parent, std::string_view name) const;

  // The names from the root to the object (none for the root itself); nothing where no walked path leads to
  // it.
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
  void add_children(const metadata::FileMetadataPtr& file, const object::Object& group, std::uint32_t parent,
                    std::vector<std::uint32_t>& groups);

  // What all groups together may make this walk do: groups of a hostile file share one store of links, or one
  // long header. In a sound file links, names and headers lie apart, so the file's size bounds them.
  struct Budget {
    std::size_t links = 0;
    std::uint64_t bytes = 0;
    bool spent() const { return links == 0 || bytes == 0; }
    void take(std::uint64_t taken) { bytes -= std::min(bytes, taken); }
  };

  Budget left_;
  std::vector<Entry> entries_;
  std::string names_;
  std::unordered_map<std::uint64_t, std::uint32_t> index_;
};

}  // namespace h5mount::tree
