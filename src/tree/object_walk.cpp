#include "object_walk.h"

#include <fmt/format.h>

namespace h5mount::tree {

namespace {

std::string joined(std::string_view parent, std::string_view name) {
  return fmt::format("{}/{}", parent == "/" ? "" : parent, name);
}

constexpr std::uint64_t kStepsPerLink = 1000;  // to open its object

class Walk {
 public:
  Walk(const ServedFilePtr& file, ObjectVisitor& visitor, RequestBudget& budget)
      : file_(file), visitor_(visitor), budget_(budget) {}

  Status run() {
    const WalkedPlace root{"/", "/"};
    H5_ASSIGN(const OpenedObjectPtr object, file_->object(file_->root_address(), budget_));
    H5_TRY(visitor_.visit_object(root, *object));
    H5_TRY(enter(GroupContents(file_, file_->root_address(), 0), root));
    while (!pending_.empty()) {
      H5_TRY(budget_.spend(kStepsPerLink));
      Pending& group = pending_.back();
      if (group.next == group.links->size())
        pending_.pop_back();
      else
        H5_TRY(visit(Group{group}, group.next++));
    }
    return {};
  }

 private:
  struct Group {
    GroupContents contents;
    std::shared_ptr<const GroupListing> links;
    WalkedPlace place;
  };
  struct Pending : Group {
    std::size_t next = 0;
  };

  Status enter(GroupContents contents, const WalkedPlace& place) {
    const auto links = contents.list(budget_);
    if (!links) return visitor_.visit_damage(place, links.error());
    if (const Error* damage = (*links)->damage()) H5_TRY(visitor_.visit_damage(place, *damage));
    pending_.push_back({{std::move(contents), *links, place}});
    return {};
  }

  Status visit(const Group& group, std::size_t position) {
    const auto link = group.contents.find_listed(*group.links, position, budget_);
    const std::string own = link ? link->name : group.links->link(position).name;
    const WalkedPlace place{joined(group.place.path, own),
                            joined(group.place.shown, group.links->name(position))};
    if (!link) return visitor_.visit_damage(place, link.error());
    const LinkTarget target = group.contents.resolve(*link, budget_);
    if (const auto* broken = std::get_if<LinkTarget::Broken>(&target.what))
      return visitor_.visit_damage(place, broken->why);
    const auto* object = std::get_if<OpenedObjectPtr>(&target.what);
    if (object == nullptr) return visitor_.visit_link(place, *link, std::get<SymlinkPath>(target.what));
    H5_TRY(visitor_.visit_object(place, **object));
    if ((*object)->object.kind != object::ObjectKind::Group) return {};
    return enter(GroupContents(file_, link->address, group.contents.depth() + 1), place);
  }

  const ServedFilePtr& file_;
  ObjectVisitor& visitor_;
  RequestBudget& budget_;
  std::vector<Pending> pending_;  // the groups from the root down to the one being visited
};

}  // namespace

Status walk_objects(const ServedFilePtr& file, ObjectVisitor& visitor, RequestBudget& budget) {
  return Walk(file, visitor, budget).run();
}

}  // namespace h5mount::tree
