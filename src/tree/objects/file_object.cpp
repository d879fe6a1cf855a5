#include "h5mount/tree/file_object.h"

#include <algorithm>

#include "../core/external_files.h"
#include "../core/symlink_text.h"
#include "damaged_lists.h"
#include "followed_dataset.h"
#include "group_contents.h"
#include "h5mount/base/momentary.h"
#include "object_facts.h"
#include "object_nodes.h"

namespace h5mount::tree {
namespace {

constexpr std::uint64_t kStepsPerName = 500;
constexpr std::uint64_t kStepsPerAttribute = 500;
constexpr unsigned kMaxLinks = 16;  // that one path goes through, as in libhdf5

class ListedLinks final : public LinkList {
 public:
  explicit ListedLinks(std::shared_ptr<const GroupListing> listing) : listing_(std::move(listing)) {}
  std::size_t size() const override { return listing_->size(); }
  format::Link at(std::size_t position) const override { return listing_->link(listing_->created(position)); }
  const Error* damage() const override { return listing_->damage(); }

 private:
  std::shared_ptr<const GroupListing> listing_;
};

class ServedObject final : public FileObject {
 public:
  ServedObject(ServedFilePtr file, OpenedObjectPtr object)
      : file_(std::move(file)), object_(std::move(object)) {}

  const object::Object& object() const override { return object_->object; }
  const metadata::FileMetadataPtr& snapshot() const override { return object_->snapshot; }
  bool is_of_main_file() const override { return file_->depth() == 0; }
  NodeStat stat() const override {
    const bool group = object_->object.kind == object::ObjectKind::Group;
    return object_stat(*file_, object_->object, group ? NodeType::Directory : NodeType::File);
  }
  void add_to(FilesRead& read) const override { read.add(file_->file()->followed); }

  Result<format::Link> find_link(std::string_view name, RequestBudget& budget) const override {
    H5_TRY(budget.spend(kStepsPerName));
    if (object_->object.kind != object::ObjectKind::Group) return fail({ErrorCode::NotFound, "not a group"});
    H5_ASSIGN(const std::shared_ptr<const object::Group> group, opened_group(*object_));
    return group->find(name);
  }

  Result<LinkListPtr> links(RequestBudget& budget) const override {
    if (auto known = object_->listing.get())
      return std::make_shared<ListedLinks>(std::static_pointer_cast<const GroupListing>(std::move(known)));
    const GroupContents contents(file_, object_->object.address, 0);
    const MomentaryWatch watch;
    H5_ASSIGN(const std::shared_ptr<const GroupListing> listing, contents.list(budget));
    if (!watch.met()) object_->listing.set(listing);
    return std::make_shared<ListedLinks>(listing);
  }

  Result<FileObjectPtr> follow(const format::Link& link, RequestBudget& budget) const override {
    return follow(link, budget, kMaxLinks);
  }

  Result<std::shared_ptr<const object::DatasetDescription>> description(
      RequestBudget& budget) const override {
    if (object_->object.kind != object::ObjectKind::Dataset)
      return fail({ErrorCode::InvalidValue, "not a dataset"});
    return description_of(*file_, *object_, budget);
  }

  const dataset::ReadEnvironment& environment() const override { return file_->context().environment; }
  std::shared_ptr<const void> opened_file() const override { return file_; }
  SharedElements elements() const override {
    const auto followed = std::make_shared<FollowedDataset>(file_, object_->object.address, LinkPlace());
    return [file = file_, followed](RequestBudget& budget) -> Result<view::ViewInput> {
      H5_ASSIGN(const DataStatePtr state, followed->newest(budget));
      return view::ViewInput{state->reader, file->value_environment(file->file()->reread()),
                             file->context().environment, file->file()};
    };
  }
  void note_failure(std::string_view path, std::uint64_t offset, const Error& error) const override {
    file_->failures().note(object_->object.address, file_->metadata()->number(), offset, error);
    report(path, error);
  }
  void report(std::string_view path, const Error& error) const override { file_->report(path, error); }

  text::ValueContext values(RequestBudget& budget) const override {
    return file_->value_context(object_->snapshot, budget);
  }

 private:
  using Followed = Result<std::shared_ptr<const ServedObject>>;

  static Followed open(const ServedFilePtr& file, std::uint64_t address, RequestBudget& budget) {
    H5_TRY(budget.spend(kStepsPerName));
    H5_ASSIGN(OpenedObjectPtr object, file->object(address, budget));
    return std::make_shared<const ServedObject>(file, std::move(object));
  }

  Followed follow(const format::Link& link, RequestBudget& budget, unsigned links_left) const {
    if (link.is(format::LinkType::Hard)) return open(file_, link.address, budget);
    if (links_left == 0) return fail({ErrorCode::NotFound, "too many links"});
    if (link.is(format::LinkType::Soft)) {
      if (!link.target.starts_with('/')) return resolve(link.target, budget, links_left - 1);
      H5_ASSIGN(const auto root, open(file_, file_->root_address(), budget));
      return root->resolve(link.target, budget, links_left - 1);
    }
    if (!link.is(format::LinkType::External))
      return fail({ErrorCode::UnsupportedFeature, "a link of a user-defined class"});
    if (auto unknown = format::unknown_external_form(link)) return fail(*std::move(unknown));
    ExternalFiles& files = *file_->context().external;
    H5_ASSIGN(const ServedFilePtr file,
              files.open(file_->shared_context(), encode_name(files.remember_link(*file_, link.file))));
    budget.allow_more(file->followed().source()->stored_bytes());
    H5_ASSIGN(const auto root, open(file, file->root_address(), budget));
    return root->resolve(link.target, budget, links_left - 1);
  }

  Followed resolve(std::string_view path, RequestBudget& budget, unsigned links_left) const {
    H5_ASSIGN(auto at, open(file_, object_->object.address, budget));
    for (std::string_view name = next_name(path); !name.empty(); name = next_name(path)) {
      H5_ASSIGN(const format::Link link, at->find_link(name, budget));
      H5_ASSIGN(at, at->follow(link, budget, links_left));
    }
    return at;
  }

  const ServedFilePtr file_;
  const OpenedObjectPtr object_;
};

}  // namespace

Result<FileObjectPtr> open_file_object(const ServedFilePtr& file, std::uint64_t address,
                                       RequestBudget& budget) {
  H5_ASSIGN(OpenedObjectPtr object, file->object(address, budget));
  return std::make_shared<const ServedObject>(file, std::move(object));
}

Result<NamedAttributes> attributes_of(const tree::FileObject& object, WithValues values,
                                      RequestBudget& budget) {
  NamedAttributes out{.list = {}, .damage = {}, .charge = object.environment().cache->no_charge()};
  Status goes_on;
  const auto note = [&](const Error& error) {
    if (!out.damage) out.damage = error;
  };
  const auto take = [&](const object::Attribute& attribute) {
    goes_on = budget.spend(kStepsPerAttribute);
    if (goes_on) goes_on = out.charge.resize(out.charge.bytes() + attribute.data.size());
    out.list.push_back(attribute);
    return goes_on.has_value();
  };
  std::function<void(object::Attribute&)> examine;
  if (values == WithValues::No)
    examine = [](object::Attribute& attribute) {
      attribute.data = {};
      attribute.owner = nullptr;
    };
  const Status done = object::for_each_attribute(*object.snapshot(), object.object(), take, note,
                                                 object::AttributeDetail::Full, examine);
  H5_TRY(std::move(goes_on));
  if (!done) note(done.error());
  std::ranges::stable_sort(out.list, {}, &object::Attribute::name);
  return out;
}

Result<FoundPath> find_last_link(const FileObjectPtr& root, std::string_view path, RequestBudget& budget) {
  FoundPath out;
  FileObjectPtr at = root;
  for (std::string_view name = next_name(path); !name.empty(); name = next_name(path)) {
    if (out.link) {
      H5_ASSIGN(at, at->follow(*out.link, budget));
    }
    H5_ASSIGN(out.link, at->find_link(name, budget));
    out.group = at;
  }
  return out;
}

}  // namespace h5mount::tree
