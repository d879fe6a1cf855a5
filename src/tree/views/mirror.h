// Mirror: a tree under /.h5 with the shape of the file's own. Its directories are the groups, at their own
// paths; beside them are the entries that a view has for the target of each link: `d@units` for the dataset
// d, say. A symlink leads to the view of its target: to the mirrored directory of a group, and to each entry
// of an object. A dangling link is omitted. A link to another file leads to that file's mirror, under
// /.h5/external below the mirror, and is not followed to see whether the target exists. What cannot be read
// has an entry by its own name, which says why, so that a listing ends well wherever the group's own links
// can be read.
//
// To add a mirror: a class derived from Mirror, and a line in the table of hidden_root.cpp. A view of
// datasets as computed files needs neither: see h5mount/view/view.h. Threads: any, as for nodes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../core/node.h"
#include "../objects/group_contents.h"
#include "virtual_nodes.h"

namespace h5mount::tree {

// An entry in a mirrored group.
struct MirrorEntry {
  std::optional<std::string> link;  // own name; nothing for the root group itself, which no link leads to
  std::string part;  // which entry of the object, in the view's own terms; empty: the object's name alone
  bool operator==(const MirrorEntry&) const = default;
};

class Mirror {
 public:
  virtual ~Mirror() = default;

  // The name of its directory under /.h5.
  virtual std::string_view name() const = 0;
  // The type of its entries: all directories, or all files.
  virtual NodeType entry_type() const = 0;

  // The suffix of the names of entries with a part; empty if there is none. With a suffix, a dataset has at
  // most this one part, and those of groups end in it. A directory whose name equals that of such an entry
  // keeps it; the entry's name is then cut and hashed, but keeps the suffix.
  virtual std::string_view suffix() const { return {}; }

  // The shown name of an entry, and the entry of a shown name; nullopt if no entry has it, or only a cut one.
  // By default the name is the link's name followed, if there is a part, by the suffix.
  virtual std::string encode(const MirrorEntry& entry) const;
  virtual std::optional<MirrorEntry> decode(std::string_view shown) const;
  // What the name may stand for where the group has no such link.
  virtual std::vector<MirrorEntry> other_entries(std::string_view) const { return {}; }
  // The encoding of links' names in the targets of symlinks, as `encode` shows an entry without a part.
  virtual std::string (*link_encoding() const)(std::string_view) { return encode_name; }

  // Whether the parts of a group are entries of its own directory, by their own names, and not beside it.
  virtual bool parts_inside_groups() const { return false; }
  // The extended attribute user.hdf5.decoded of a group's directory; empty: it has none.
  virtual Result<std::string> decoded_group(ServedFile&, const OpenedObject&, RequestBudget&) const {
    return std::string();
  }

  // Visits the parts of an object, each once; for an object that is not a group, a part may be empty. Fails
  // if some may be missing; the known ones were visited then.
  virtual Status for_each_part(ServedFile& file, const OpenedObject& object, RequestBudget& budget,
                               const std::function<void(std::string)>& each) const = 0;
  // Whether it shows what conventions say: MATLAB's cells and arrays of structures are then directories, and
  // what programs keep beside the objects that they store is hidden (objects/element_links.h).
  virtual bool decodes() const { return false; }
  // The part that stands for those which cannot be told, where `for_each_part` fails.
  virtual std::string part_for_damage(const OpenedObject&) const { return {}; }
  // Fails with NotFound if the object does not have that part. By default all are visited.
  virtual Status find_part(ServedFile& file, const OpenedObject& object, const std::string& part,
                           RequestBudget& budget) const;
  // The node of an existing part, which `find_part` found. `link` leads from `group` to the object.
  virtual Result<NodePtr> make_node(const GroupContents& group, const format::Link& link,
                                    const std::string& part, RequestBudget& budget) const = 0;
};

inline Error no_such_entry() {
  return {ErrorCode::NotFound, "no such entry of the view"};
}

// A shown name without the suffix, if it has it.
inline std::string_view without_suffix(std::string_view shown, std::string_view suffix) {
  if (shown.ends_with(suffix)) shown.remove_suffix(suffix.size());
  return shown;
}

using MirrorPtr = std::shared_ptr<const Mirror>;

// The mirror's directory under /.h5.
NodePtr make_mirror(const VirtualDirectorySetup& setup, MirrorPtr mirror);

}  // namespace h5mount::tree
