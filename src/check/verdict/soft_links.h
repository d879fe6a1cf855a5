// SoftLinks: where the soft links of a file lead, each followed once however many lead through it. Those that
// lead in a circle, and those that lead through more links than a policy allows. Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "h5mount/object/object.h"

namespace h5mount::check {

class SoftLinks {
 public:
  explicit SoftLinks(metadata::FileMetadataPtr file) : file_(std::move(file)) {}

  struct End {
    bool circle = false;
    std::uint64_t links = 0;                    // on the longest way, itself included
    std::optional<std::uint64_t> address = {};  // nullopt: it leads to nothing in the file
  };
  // Of the link of that name in the group at that address. `go_on` is asked for each name.
  template <class GoOn>
  End follow(std::uint64_t group, const std::string& name, const std::string& target, const GoOn& go_on) {
    begin({group, name}, target);
    while (!way_.empty() && go_on()) step();
    return known_[{group, name}].end;
  }

 private:
  using Key = std::pair<std::uint64_t, std::string>;
  struct Step {
    Key link;
    std::uint64_t at;               // the group that the next name is sought in
    std::vector<std::string> rest;  // names, the next one last
    std::uint64_t links = 1;
  };

  void begin(const Key& link, const std::string& target);
  void step();
  // The last link of the way ends there; where one leads to nothing, so do those before it.
  void finish(End end);
  std::optional<format::Link> find(std::uint64_t group, const std::string& name);

  const metadata::FileMetadataPtr file_;
  struct Known {
    End end;
    bool on_the_way = true;
  };
  std::map<Key, Known> known_;  // the links that were met
  std::vector<Step> way_;       // the link that is followed, and those that it leads through
  std::unordered_map<std::uint64_t, std::shared_ptr<const object::Group>> groups_;
};

}  // namespace h5mount::check
