// The objects and links of a file by their paths, from the root, breadth first. Each object is found under
// one path; a further hard link to a dataset or to a named type is an object of its own, one to a group a
// link to the path of the group, as groups can contain themselves. Threads: one.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "h5mount/join/card.h"

namespace h5mount::join {

struct WalkedObject {
  std::string path;  // as MemberCard::path
  MemberCard::Kind kind = MemberCard::Kind::Group;
  std::uint64_t address = 0;   // not of links
  std::string target = {};     // of links
  std::optional<Error> error;  // it cannot be opened, or is a group of which links are lost
};

struct WalkedFile {
  std::vector<WalkedObject> objects;                     // the root first; a group before what is in it
  std::unordered_map<std::uint64_t, std::size_t> first;  // by address
};

// Fails if the root cannot be listed or there are more than kMostMembers objects, and with what is passing.
Result<WalkedFile> walk_file(const metadata::FileMetadataPtr& file, RequestBudget& budget);

}  // namespace h5mount::join
