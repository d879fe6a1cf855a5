// Mirror: a tree under /.h5 with the shape of the file's own. Its directories are the groups, at their own
// places, and beside them stand the entries that a view has of what each link leads to: `d@units` of the
// dataset d, say. A symlink leads to the view of what it leads to in the file: to the mirrored directory of a
// group, and to each entry of an object. One that leads nowhere is left out; one that leads to another file
// leads to that file's mirror, which
// /.h5/external below the mirror holds, and is not followed to find out whether there is anything.
//
// To add one: a class derived from Mirror, and a line in the table of virtual_directories.cpp. A view of
// datasets as computed files needs neither: see h5mount/view/view.h. Threads: any, as for nodes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "group_contents.h"
#include "node.h"
#include "virtual_directories.h"

namespace h5mount::tree {

// An entry in a mirrored group.
struct MirrorEntry {
  std::optional<std::string> link;  // own name; nothing for the root group itself, which no link leads to
  std::string part;  // which entry of the object it is, in the view's own terms; empty: of its name alone
};

class Mirror {
 public:
  virtual ~Mirror() = default;

  // The name of its directory under /.h5.
  virtual std::string_view name() const = 0;
  // What its entries are: all directories, or all files.
  virtual NodeType entry_type() const = 0;

  // What the names of entries with a part end in; it is then their only part. A directory keeps its name
  // where it meets such an entry, whose name is then cut and hashed, the suffix kept.
  virtual std::string_view suffix() const { return {}; }

  // Names as shown, and back: `decode` gives nothing where no entry is shown so, or only a cut one. By
  // default the link's name and, where there is a part, the suffix.
  virtual std::string encode(const MirrorEntry& entry) const;
  virtual std::optional<MirrorEntry> decode(std::string_view shown) const;
  // How the names of links are shown in symlinks' texts; as `encode` shows an entry without a part.
  virtual std::string (*link_encoding() const)(std::string_view) { return encode_name; }

  // The parts that an object has, each once; a part may be empty for objects that are no groups. An error
  // where there may be more: those that are known were given all the same.
  virtual Status for_each_part(ServedFile& file, const OpenedObject& object,
                               const std::function<void(std::string)>& each) const = 0;
  // NotFound where it does not have that one.
  virtual Status find_part(ServedFile& file, const OpenedObject& object, const std::string& part) const = 0;
  // The node of a part that there is. `link` leads from `group` to the object.
  virtual NodePtr make_node(const GroupContents& group, const format::Link& link,
                            const std::string& part) const = 0;
};
using MirrorPtr = std::shared_ptr<const Mirror>;

// The mirror's directory under /.h5.
NodePtr make_mirror(const VirtualDirectorySetup& setup, MirrorPtr mirror);

}  // namespace h5mount::tree
