// The walk over a store's groups and arrays.

#include "h5mount/base/limits.h"
#include "zarr_store.h"

namespace h5mount::tree {

namespace {

class StoreWalk {
 public:
  using Visit = std::function<Status(const WalkedObject&)>;
  using Omitted = std::function<void(const std::string& path, const std::string& why)>;
  StoreWalk(const ServedFilePtr& file, view::ZarrEncoding encoding, const Visit& visit,
            const Omitted& omitted, RequestBudget& budget)
      : file_(file), encoding_(encoding), visit_(visit), omitted_(omitted), budget_(budget) {}

  Status run() {
    left_.push_back({root_of(file_), "", 0});
    while (!left_.empty()) {
      const Group group = std::move(left_.back());
      left_.pop_back();
      path_.resize(group.above);
      add_name(group.name);
      H5_TRY(visit_group(group));
      H5_TRY(budget_.spend(kStepsPerGroup + kStepsPerPathByte * path_.size()));
    }
    return {};
  }

 private:
  static constexpr std::uint64_t kStepsPerGroup = 1000, kStepsPerPathByte = 4;

  // A group to be visited; until then path_ begins with the path of the group that contains it.
  struct Group {
    StoreGroupPtr place;
    std::string name;
    std::size_t above;  // bytes of that path
  };

  void add_name(std::string_view name) {
    if (!path_.empty()) path_ += '/';
    path_ += name;
  }

  Status visit_group(const Group& group) {
    const GroupContents& contents = group.place->contents;
    H5_ASSIGN(const OpenedObjectPtr opened, file_->object(contents.address(), budget_));
    Status visited = visit_({path_, *opened, contents.address(), nullptr});
    const std::size_t own = path_.size();
    const auto each = [&](const ZarrChild& child) {
      if (child.symlink) return Status();
      if (++objects_ > limits::kMaxWalkedObjects) {
        visited = fail({ErrorCode::TooLarge, "more objects than can be consolidated"});
      } else if (child.is_array()) {
        add_name(child.shown);
        const ArrayPlace place{group.place, child.own_name};
        visited = visit_({path_, *child.object, contents.address(), &place});
        path_.resize(own);
      } else {
        left_.push_back({group_in(group.place, child.link.address), child.shown, own});
      }
      return visited;
    };
    ZarrOmissions omissions;
    if (omitted_)
      omissions.each = [&](std::string_view name, const std::string& why) {
        add_name(name);
        omitted_(path_, why);
        path_.resize(own);
      };
    // The group's own listing reports its missing entries.
    if (visited)
      (void)for_each_zarr_child(contents, encoding_, each, omitted_ ? &omissions : nullptr, budget_);
    if (omissions.damage && omitted_) omitted_(path_, omissions.damage->text());
    return visited;
  }

  const ServedFilePtr& file_;
  const view::ZarrEncoding encoding_;
  const Visit& visit_;
  const Omitted& omitted_;
  RequestBudget& budget_;
  std::vector<Group> left_;
  std::string path_;
  std::size_t objects_ = 0;
};

}  // namespace

Status walk_store(const ServedFilePtr& file, view::ZarrEncoding encoding,
                  const std::function<Status(const WalkedObject&)>& visit,
                  const std::function<void(const std::string& path, const std::string& why)>& omitted,
                  RequestBudget& budget) {
  return StoreWalk(file, encoding, visit, omitted, budget).run();
}

}  // namespace h5mount::tree
