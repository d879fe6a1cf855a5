// The three forms of storage for a group's links, each a Group; Group::open (group.cpp) selects.
#pragma once

#include <memory>

#include "h5mount/metadata/btree2.h"
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

// Runs `walk`, which calls its argument for every link. Fails with LimitExceeded if the links together exceed
// the ListingBudget.
template <class Walk>
Status within_budget(const metadata::FileMetadata& file,
                     const std::function<bool(const format::Link&)>& visit, const Walk& walk) {
  ListingBudget budget(file);
  H5_TRY(walk([&](const format::Link& link) {
    return budget.take(link.name.size() + link.target.size() + link.file.size()) && visit(link);
  }));
  return budget.status("Group");
}

// Visits the records of an index of links or attributes; `visit` returns false to stop. Returns false if some
// records may be missing, which `missing` is told. The number of records in an index that is being written
// may differ from the one its header states.
bool for_each_record(const metadata::FileMetadata& file, const metadata::BTree2& index,
                     const metadata::BTree2::Visit& visit, const std::function<void(const Error&)>& missing);

// The NotFound error of every kind of group.
Error no_such_link(std::string_view name);

// Finds a link by visiting all links: for links in one header, and if the name index is absent or damaged.
// `damage`: found by an earlier search, and returned if the name is not found.
Result<format::Link> find_by_scan(const Group& group, std::string_view name,
                                  std::optional<Error> damage = std::nullopt);

}  // namespace h5mount::object
