// Visits every link of a file once, depth first, the links of a group in the order of its listing. Objects
// are entered only at their own paths, so the walk terminates. What goes through a whole file
// (metadata.jsonl, list.txt) is a visitor. Threads: any.
#pragma once

#include <string_view>
#include <vector>

#include "group_contents.h"

namespace h5mount::tree {

// The position of a link: its path in own names, and its path as the mount shows it; both are "/" for the
// root. Valid during the visit.
struct WalkedPlace {
  std::string_view path;
  std::string_view shown;
  std::uint64_t group =
      format::kUndefinedAddress;  // the address of the group that contains the link; undefined: the root
};

// An error of a visit ends the walk.
class ObjectVisitor {
 public:
  virtual ~ObjectVisitor() = default;

  // The root, or an object at its own path.
  virtual Status visit_object(const WalkedPlace& place, const OpenedObject& object) = 0;
  // Members of the group visited last that its visit has opened: the walk does not open them again.
  virtual std::vector<OpenedObjectPtr> take_opened() { return {}; }
  // A link that is shown as a symlink.
  virtual Status visit_link(const WalkedPlace& place, const format::Link& link,
                            const SymlinkPath& symlink) = 0;
  // Something that cannot be read at that place, with the error. A group with unreadable links is visited a
  // second time this way.
  virtual Status visit_damage(const WalkedPlace& place, const Error& why) = 0;
};

Status walk_objects(const ServedFilePtr& file, ObjectVisitor& visitor, RequestBudget& budget);

}  // namespace h5mount::tree
