// The content of a Zarr store: a file's groups at their own paths, its datasets as arrays, and the metadata
// of both. A store is no mirror (views/mirror.h), as its arrays are directories. A soft link to a dataset is
// an array; every further link to a group is a symlink, which the consolidated metadata omit. Omitted are
// links to other files, datasets whose type Zarr lacks, dimensions of netCDF without values, and what cannot
// be read: a client that cannot read one entry opens no store. Threads: any.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "../objects/group_contents.h"
#include "../objects/object_facts.h"
#include "../objects/tree_text.h"
#include "h5mount/view/zarr.h"
#include "zarr_variable.h"

namespace h5mount::tree {

// A link's name as part of a key: the file name, with everything that version 2 or 3 of Zarr reserves
// percent-encoded.
std::string encode_zarr_name(std::string_view name);
std::string encode_zarr3_name(std::string_view name);
// A path in a store of version 3 as a key, which has to be UTF-8: other bytes are percent-encoded.
std::string version3_key(std::string_view path);
// The path in a store of version 2 of what has that key.
std::string version2_path(std::string_view key);

struct ZarrChild {
  std::string shown, own_name;
  format::Link link;
  OpenedObjectPtr object;              // a group or a dataset; null for a symlink
  std::optional<SymlinkPath> symlink;  // to a group
  NodeType type() const { return symlink ? NodeType::Symlink : NodeType::Directory; }
  bool is_array() const { return object && object->object.kind == object::ObjectKind::Dataset; }
};

// Fails with NotFound if the store has no entry of that name.
Result<ZarrChild> find_zarr_child(const GroupContents& group, view::ZarrEncoding encoding,
                                  std::string_view shown, RequestBudget& budget);

// The objects that a group of a store lacks: those that cannot be read (1,000 are named, the last one stands
// for the rest), and why others may be missing: what is wrong with the group's own links, or was for a
// moment.
struct ZarrOmissions {
  std::vector<DirectoryListing::LeftOut> objects;
  std::optional<Error> damage;
  // Called for each of these objects, and for the datasets that the store does not show; may be null.
  std::function<void(std::string_view name, const std::string& why)> each = nullptr;
};

// Visits the children in the order of readdir. Objects that cannot be read are logged. `omissions` may be
// null.
Status for_each_zarr_child(const GroupContents& group, view::ZarrEncoding encoding,
                           const std::function<Status(ZarrChild)>& each, ZarrOmissions* omissions,
                           RequestBudget& budget);

// A group or an array of a store.
struct WalkedObject {
  const std::string& path;  // prefix of its keys, without a slash at the end; empty for the root
  const OpenedObject& object;
  std::uint64_t group;      // address of the group that links to it
  const ArrayPlace* array;  // null: it is a group
};
// Visits the root and all groups and arrays below it. The children of a group are visited one after another.
// `omitted`, which may be null, is called for the objects that the store lacks, with their paths. Fails with
// TooLarge if there are too many objects.
Status walk_store(const ServedFilePtr& file, view::ZarrEncoding encoding,
                  const std::function<Status(const WalkedObject&)>& visit,
                  const std::function<void(const std::string& path, const std::string& why)>& omitted,
                  RequestBudget& budget);

// The root's place, and that of a group in another.
StoreGroupPtr root_of(const ServedFilePtr& file);
StoreGroupPtr group_in(const StoreGroupPtr& group, std::uint64_t address);

// The subject of a metadata file: a group, or the dataset that an array is of.
struct ZarrSubject {
  const ServedFilePtr& file;
  const OpenedObject& object;
  const ArrayPlace*
      array;  // the link by which the array is shown, as its name is that of a dimension too; null: a group
  view::ZarrEncoding encoding;
  const object::DatasetDescription* shown = nullptr;  // instead of the variable's own
};
// Appends the text of a file of version 2: .zgroup, .zarray, .zattrs, and .zmetadata, which covers all groups
// and arrays below the root, so that these are walked.
Status append_zgroup(const ZarrSubject& group, TreeText& out, RequestBudget& budget);
Status append_zarray(const ZarrSubject& array, TreeText& out, RequestBudget& budget);
Status append_zattrs(const ZarrSubject& node, TreeText& out, RequestBudget& budget);
inline constexpr std::string_view kZgroupText = R"({"zarr_format":2})";
// The same texts of an array, and .zattrs of a group.
Result<std::string> zarray_text(const ZarrSubject& array, RequestBudget& budget);
Result<std::string> zattrs_text(const ZarrSubject& node, RequestBudget& budget);
// Appends a member to a JSON object that is being written. `first` is set to false.
Status append_member(std::string_view key, std::string_view json, bool& first, TreeText& out);
Status append_zmetadata(const ZarrSubject& root, TreeText& out, RequestBudget& budget);
// The same of version 3: zarr.json of a group or an array, and that of the root, which includes those of all
// nodes below it.
Status append_zarr_json(const ZarrSubject& node, TreeText& out, RequestBudget& budget);
Result<std::string> zarr_json_text(const ZarrSubject& node, RequestBudget& budget);
Status append_root_zarr_json(const ZarrSubject& root, TreeText& out, RequestBudget& budget);

}  // namespace h5mount::tree
