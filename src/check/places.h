// Places: the objects of a file in the order in which a breadth-first walk meets them, each once, whatever
// number of links leads to it. A place costs its link's name and about 100 bytes; a path is made when it is
// shown. Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "h5mount/base/thread_annotations.h"

namespace h5mount::check {

using PlaceId = std::uint32_t;

class Places {
 public:
  static constexpr PlaceId kRoot = 0;

  explicit Places(std::uint64_t root_address);

  // Adds the object that the link `name` of the group `parent` leads to, unless it is known.
  void add(PlaceId parent, std::string_view name, std::uint64_t address);

  PlaceId size() const;
  // The place of what is at that address, if it is known; and the number of links on the shortest way to it.
  std::optional<PlaceId> find(std::uint64_t address) const;
  std::uint32_t depth(PlaceId place) const;
  PlaceId parent(PlaceId place) const;  // of the root, and of what no link leads to: itself
  std::uint64_t address(PlaceId place) const;
  // The path by which the place was found; if it is longer than a path can be, only its end.
  std::string path(PlaceId place) const;
  std::string link_path(PlaceId group, const std::string& name) const {
    return (group == kRoot ? "" : path(group)) + "/" + name;
  }
  // Notes how many links to the object its header states. `at_least`: datatypes count their users too.
  void set_references(PlaceId place, std::uint32_t references, bool at_least);
  // Links may be missing, so that their numbers tell nothing.
  void leave_out_counts();
  // The numbers of links that the object's header states and that were found; nullopt if they agree.
  struct Miscount {
    std::uint32_t stated, found;
  };
  std::optional<Miscount> miscount(PlaceId place) const;

  // Adds an object that no link leads to; its path is `offset N`.
  void add_unlinked(std::uint64_t address, std::uint64_t offset);

  // True if objects were left out: there are more, or their names are longer, than base/limits.h allows.
  bool full() const;

 private:
  struct Place {
    std::uint64_t address;
    PlaceId parent;
    std::uint32_t depth;
    std::string name;
    std::uint32_t stated = 0;  // number of links; 0: not known
    bool at_least = false;
  };

  mutable Mutex mutex_;
  std::vector<Place> places_ H5_GUARDED_BY(mutex_);
  struct Known {
    PlaceId place;
    std::uint32_t links;
  };
  std::unordered_map<std::uint64_t, Known> known_ H5_GUARDED_BY(mutex_);  // by address
  bool uncounted_ H5_GUARDED_BY(mutex_) = false;
  std::size_t name_bytes_ H5_GUARDED_BY(mutex_) = 0;
  bool full_ H5_GUARDED_BY(mutex_) = false;
};

}  // namespace h5mount::check
