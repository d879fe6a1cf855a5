#include "list_lines.h"

#include "attribute_values.h"
#include "h5mount/base/advice.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/log.h"
#include "h5mount/tree/object_line.h"
#include "object_facts.h"
#include "object_walk.h"

namespace h5mount::tree {

namespace {

// `work`: counts the bytes of all values, of which the lines show only a part.
class ObjectXattrs final : public XattrSource {
 public:
  ObjectXattrs(ServedFile& file, const OpenedObject& object, std::uint64_t& work, RequestBudget& budget)
      : file_(file), object_(object), work_(work), budget_(budget) {}
  Result<std::vector<std::string>> list() const override {
    return list_object_xattrs(file_, object_, budget_);
  }
  Result<std::string> get(std::string_view name) const override {
    auto value = get_object_xattr(file_, object_, name, budget_);
    work_ += value ? value->size() : value.error().code() == ErrorCode::TooLarge ? kMaxXattrBytes : 0;
    return value;
  }

 private:
  ServedFile& file_;
  const OpenedObject& object_;
  std::uint64_t& work_;
  RequestBudget& budget_;
};

class ListWriter final : public ObjectVisitor {
 public:
  ListWriter(ServedFile& file, const std::function<Status(std::string_view)>& out, RequestBudget& budget)
      : file_(file), out_(out), budget_(budget) {}

  Status visit_object(const WalkedPlace& place, const OpenedObject& object) override {
    // Links may share objects, so a small file can ask for any amount of text.
    if (work_ > limits::kMaxOpenTextBytes)
      return fail({ErrorCode::TooLarge, "more attributes than a list can have"});
    H5_TRY(budget_.check());
    const ObjectXattrs xattrs(file_, object, work_, budget_);
    return out_(object_line(place.shown, describe_object(xattrs)) + describe_attributes(xattrs));
  }
  Status visit_link(const WalkedPlace& place, const format::Link&, const SymlinkPath& symlink) override {
    return out_(object_line(place.shown, describe_symlink(symlink_text(symlink))));
  }
  Status visit_damage(const WalkedPlace& place, const Error& why) override {
    return out_(object_line(place.shown, "error: " + escape_for_log(text_with_advice(why))));
  }

 private:
  ServedFile& file_;
  const std::function<Status(std::string_view)>& out_;
  RequestBudget& budget_;
  std::uint64_t work_ = 0;
};

}  // namespace

Status list_lines(const ServedFilePtr& file, const std::function<Status(std::string_view)>& out,
                  RequestBudget& budget) {
  ListWriter writer(*file, out, budget);
  return walk_objects(file, writer, budget);
}

}  // namespace h5mount::tree
