// The three ways in which a file holds a group's links, each a Group. group.cpp tells which it is.
#pragma once

#include <memory>

#include "h5mount/object/object.h"
#include "listing_budget.h"

namespace h5mount::object {

// A B-tree over symbol table nodes, names in a local heap: hard and soft links only.
Result<std::unique_ptr<Group>> open_old_group(metadata::FileMetadataPtr file,
                                              const format::SymbolTableMessage& message);

// Link messages in the object header itself.
std::unique_ptr<Group> make_compact_group(metadata::FileMetadataPtr file,
                                          std::shared_ptr<const metadata::ObjectHeader> header,
                                          bool creation_order_indexed);

// Link messages in a fractal heap, found through v2 B-trees by the hash of the name and by creation order.
Result<std::unique_ptr<Group>> open_dense_group(metadata::FileMetadataPtr file, const format::LinkInfo& info);

// `walk` calls what it is given for every link; ends with LimitExceeded where the links together are larger
// than any sound file's could be.
template <class Walk>
Status within_budget(const metadata::FileMetadata& file,
                     const std::function<bool(const format::Link&)>& visit, const Walk& walk) {
  ListingBudget budget(file);
  H5_TRY(walk([&](const format::Link& link) {
    return budget.take(link.name.size() + link.target.size() + link.file.size()) && visit(link);
  }));
  return budget.status("Group");
}

// NotFound, as every kind of group says it.
Error no_such_link(std::string_view name);

// One link by looking at all: for links that lie in one header, and where a group lacks the index by name or
// it is damaged. `met`: damage that the search before met, the error where the name is not found and no other
// is met.
Result<format::Link> find_by_scan(const Group& group, std::string_view name,
                                  std::optional<Error> met = std::nullopt);

}  // namespace h5mount::object
