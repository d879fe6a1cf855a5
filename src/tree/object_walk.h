// Every link of a file once, depth first, those of a group in the order of its listing. Objects are gone
// through at their own places only, so that the walk ends. Threads: any.
#pragma once

#include <string>

#include "group_contents.h"

namespace h5mount::tree {

// Where a link is: by own names, and as the mount shows them. "/" for the root.
struct WalkedPlace {
  std::string path;
  std::string shown;
};

// An error that a visit gives ends the walk.
class ObjectVisitor {
 public:
  virtual ~ObjectVisitor() = default;

  // The root, or an object that stands at its own place.
  virtual Status visit_object(const WalkedPlace& place, const OpenedObject& object) = 0;
  // A link that is shown as a symlink.
  virtual Status visit_link(const WalkedPlace& place, const format::Link& link,
                            const SymlinkPath& symlink) = 0;
  // What cannot be read there; for a group whose links cannot all be read a second visit of its place.
  virtual Status visit_damage(const WalkedPlace& place, const Error& why) = 0;
};

Status walk_objects(const ServedFilePtr& file, ObjectVisitor& visitor);

}  // namespace h5mount::tree
