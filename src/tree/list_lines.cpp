#include "list_lines.h"

#include "h5mount/base/log.h"
#include "h5mount/tree/object_line.h"
#include "object_facts.h"
#include "object_walk.h"

namespace h5mount::tree {

namespace {

class ObjectXattrs final : public XattrSource {
 public:
  ObjectXattrs(ServedFile& file, const OpenedObject& object) : file_(file), object_(object) {}
  Result<std::vector<std::string>> list() const override { return list_object_xattrs(file_, object_); }
  Result<std::string> get(std::string_view name) const override {
    return get_object_xattr(file_, object_, name);
  }

 private:
  ServedFile& file_;
  const OpenedObject& object_;
};

class ListWriter final : public ObjectVisitor {
 public:
  ListWriter(ServedFile& file, const std::function<Status(std::string_view)>& out) : file_(file), out_(out) {}

  Status visit_object(const WalkedPlace& place, const OpenedObject& object) override {
    const ObjectXattrs xattrs(file_, object);
    return out_(object_line(place.shown, describe_object(xattrs)) + describe_attributes(xattrs));
  }
  Status visit_link(const WalkedPlace& place, const format::Link&, const SymlinkPath& symlink) override {
    return out_(object_line(place.shown, describe_symlink(symlink_text(symlink))));
  }
  Status visit_damage(const WalkedPlace& place, const Error& why) override {
    return out_(object_line(place.shown, "error: " + escape_for_log(why.text())));
  }

 private:
  ServedFile& file_;
  const std::function<Status(std::string_view)>& out_;
};

}  // namespace

Status list_lines(const ServedFilePtr& file, const std::function<Status(std::string_view)>& out) {
  ListWriter writer(*file, out);
  return walk_objects(file, writer);
}

}  // namespace h5mount::tree
