#include "object_walk.h"

#include <unordered_map>

#include "h5mount/base/limits.h"
#include "h5mount/object/walk_ahead.h"

namespace h5mount::tree {

namespace {

constexpr std::uint64_t kStepsPerPathByte = 4;

// The paths of the group that is being visited, or of one of its links.
class Paths {
 public:
  struct Lengths {
    std::size_t path = 0, shown = 0;
  };
  Lengths lengths() const { return {path_.size(), shown_.size()}; }
  void cut(Lengths to) {
    path_.resize(to.path);
    shown_.resize(to.shown);
  }
  void add(std::string_view own, std::string_view shown, std::uint64_t group) {
    group_ = group;
    path_.append("/").append(own);
    shown_.append("/").append(shown);
  }
  WalkedPlace place() const {
    if (path_.empty()) return {"/", "/"};
    return {path_, shown_, group_};
  }

 private:
  std::string path_, shown_;  // empty: the root
  std::uint64_t group_ = format::kUndefinedAddress;
};

class Walk {
 public:
  Walk(const ServedFilePtr& file, ObjectVisitor& visitor, RequestBudget& budget)
      : file_(file), visitor_(visitor), budget_(budget), ahead_(file->metadata()) {}

  Status run() {
    const std::uint64_t root = file_->root_address();
    ahead_.will_visit({&root, 1}, budget_);
    H5_ASSIGN(const OpenedObjectPtr object, file_->object(file_->root_address(), budget_));
    H5_TRY(visitor_.visit_object(paths_.place(), *object));
    H5_TRY(enter(GroupContents(file_, file_->root_address(), 0)));
    while (!pending_.empty()) {
      Group& group = pending_.back();
      paths_.cut(group.lengths);
      H5_TRY(budget_.spend(kStepsPerLink + kStepsPerPathByte * (group.lengths.path + group.lengths.shown)));
      if (group.next == group.links->size()) {
        path_bytes_ -= group.lengths.path;
        pending_.pop_back();
      } else {
        H5_TRY(visit(group, group.next++));
      }
    }
    return {};
  }

 private:
  struct Group {
    GroupContents contents;
    std::shared_ptr<const GroupListing> links;
    Paths::Lengths lengths;  // of its own paths, with which paths_ begins
    std::size_t next = 0;
  };

  // Enters the group at the current place.
  Status enter(GroupContents contents) {
    opened_.clear();
    for (OpenedObjectPtr& member : visitor_.take_opened())
      opened_.emplace(member->object.address, std::move(member));
    const Paths::Lengths lengths = paths_.lengths();
    if (lengths.path > limits::kMaxWalkedPathBytes - path_bytes_)
      return visitor_.visit_damage(paths_.place(), {ErrorCode::LimitExceeded,
                                                    "groups are nested too deep for their paths to be told"});
    const auto links = contents.list(budget_);
    if (!links) return visitor_.visit_damage(paths_.place(), links.error());
    if (const Error* damage = (*links)->damage()) H5_TRY(visitor_.visit_damage(paths_.place(), *damage));
    path_bytes_ += lengths.path;
    pending_.push_back({std::move(contents), *links, lengths});
    return {};
  }

  void ask_ahead(const GroupListing& links, std::size_t position) {
    std::vector<std::uint64_t> page;
    for (std::size_t i = position; i < std::min(position + object::WalkAhead::kPage, links.size()); ++i)
      if (const format::Link link = links.link(i); link.is(format::LinkType::Hard))
        page.push_back(link.address);
    ahead_.will_visit(page, budget_);
  }

  // This may enter another group, after which `group` is no longer valid.
  Status visit(const Group& group, std::size_t position) {
    if (ahead_.is_of_use() && position % object::WalkAhead::kPage == 0) ask_ahead(*group.links, position);
    const auto link = group.contents.find_listed(*group.links, position, budget_);
    const std::string own = link ? link->name : group.links->link(position).name;
    paths_.add(own, group.links->name(position), group.contents.address());
    if (!link) return visitor_.visit_damage(paths_.place(), link.error());
    if (const auto member = opened_.extract(link->address))
      file_->objects().insert(link->address, member.mapped());
    const LinkTarget target = group.contents.resolve(*link, budget_);
    if (const auto* broken = std::get_if<LinkTarget::Broken>(&target.what))
      return visitor_.visit_damage(paths_.place(), broken->why);
    const auto* object = std::get_if<OpenedObjectPtr>(&target.what);
    if (object == nullptr)
      return visitor_.visit_link(paths_.place(), *link, std::get<SymlinkPath>(target.what));
    H5_TRY(visitor_.visit_object(paths_.place(), **object));
    if ((*object)->object.kind != object::ObjectKind::Group) return {};
    return enter(GroupContents(file_, link->address, group.contents.depth() + 1));
  }

  const ServedFilePtr& file_;
  ObjectVisitor& visitor_;
  RequestBudget& budget_;
  object::WalkAhead ahead_;
  std::vector<Group> pending_;  // the groups from the root down to the one being visited
  std::unordered_map<std::uint64_t, OpenedObjectPtr> opened_;  // members of the group entered last
  Paths paths_;
  // The length of all own paths of these groups together: the lines about objects at such a depth consist
  // mostly of their paths.
  std::size_t path_bytes_ = 0;
};

}  // namespace

Status walk_objects(const ServedFilePtr& file, ObjectVisitor& visitor, RequestBudget& budget) {
  return Walk(file, visitor, budget).run();
}

}  // namespace h5mount::tree
