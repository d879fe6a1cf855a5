#include "group_table.h"

#include "damaged_lists.h"
#include "group_contents.h"
#include "h5mount/base/limits.h"
#include "h5mount/object/list_damage.h"
#include "h5mount/object/resolve_path.h"

namespace h5mount::tree {

namespace {

// The links in the order of a listing; none where there are too many.
Result<std::shared_ptr<const GroupListing>> listed_links(ServedFile& file, const OpenedObject& group) {
  H5_ASSIGN(const std::shared_ptr<const object::Group> opened, opened_group(group));
  FoundLinks found;
  object::ListDamage damage;
  damage.note(opened->for_each(
      [&](const format::Link& link) {
        found.add(link);
        return found.links.size() <= limits::kMaxTableLinks;
      },
      [&](const Error& error) { damage.note(error); }));
  if (auto missing = damage.error(kMissingLinks)) return fail(*std::move(missing));
  if (found.links.size() > limits::kMaxTableLinks) found = {};
  return std::make_shared<const GroupListing>(file.shared_from_this(), std::move(found),
                                              opened->creation_order_indexed(), std::nullopt);
}

// The address of the object of this file that a link leads to; nothing where it leads to none.
Result<std::optional<std::uint64_t>> address_of(const OpenedObject& group, const format::Link& link,
                                                object::PathWork& work) {
  if (link.is(format::LinkType::Hard)) return link.address;
  if (!link.is(format::LinkType::Soft)) return std::nullopt;
  const auto address = object::resolve_path(group.snapshot, group.object.address, link.target, work);
  if (address) return *address;
  const ErrorCode why = address.error().code();
  if (why == ErrorCode::NotFound || why == ErrorCode::LimitExceeded || why == ErrorCode::UnsupportedFeature)
    return std::nullopt;
  return fail(address.error());
}

bool can_grow(const format::Dataspace& space) {
  return !space.max_dims.empty() && space.max_dims[0] > space.dims[0];
}

// The lengths of the columns so far.
class Lengths {
 public:
  explicit Lengths(bool may_differ) : may_differ_(may_differ) {}
  bool add(const format::Dataspace& space) {
    if (!std::exchange(any_, true)) first_ = space.dims[0];
    same_ = same_ && space.dims[0] == first_;
    growing_ = growing_ && can_grow(space);
    return same_ || (may_differ_ && growing_);
  }

 private:
  bool may_differ_, any_ = false, same_ = true, growing_ = true;
  std::uint64_t first_ = 0;
};

constexpr std::uint64_t kStepsPerLink = 1000;  // to open its object

struct Found {
  std::vector<GroupColumn> columns;
  std::vector<dataset::JoinedMember> members;  // the same, described
};

Result<Found> find_columns(ServedFile& file, const OpenedObject& group, RequestBudget& budget,
                           bool measured) {
  Found found;
  if (group.object.address == file.root_address()) return found;
  H5_ASSIGN(const std::shared_ptr<const GroupListing> links, listed_links(file, group));
  budget.share_pauses(links->pauses());
  Lengths lengths(file.followed().following());
  H5_ASSIGN(const std::shared_ptr<const object::Group> opened, opened_group(group));
  object::PathWork work{.budget = &budget, .names_left = limits::kMaxTableLinks + 1};
  for (std::size_t i = 0; i < links->size(); ++i) {
    H5_TRY(budget.spend(kStepsPerLink));
    format::Link link = links->link(i);
    if (link.is(format::LinkType::Soft)) {
      H5_ASSIGN(link, opened->find(link.name));
    }
    H5_ASSIGN(const std::optional<std::uint64_t> address, address_of(group, link, work));
    if (work.names_left == 0) return Found{};
    if (!address) continue;
    H5_ASSIGN(const OpenedObjectPtr object, file.object(*address, budget));
    if (object->object.kind != object::ObjectKind::Dataset) continue;
    auto described = description_of(file, *object, measured ? &budget : nullptr);
    if (!described && described.error().code() == ErrorCode::TooLarge) continue;  // no view shows it
    H5_ASSIGN(DatasetDescriptionPtr dataset, std::move(described));
    if (dataset->space.rank() != 1) continue;
    if (!lengths.add(dataset->space)) return Found{};
    found.columns.push_back({link.name, *address});
    found.members.push_back({std::move(link.name), std::move(dataset)});
  }
  if (found.columns.size() < 2) return Found{};
  return found;
}

}  // namespace

Result<std::vector<GroupColumn>> group_columns(ServedFile& file, const OpenedObject& group,
                                               RequestBudget& budget, bool measured) {
  H5_ASSIGN(Found found, find_columns(file, group, budget, measured));
  return std::move(found.columns);
}

Result<DatasetDescriptionPtr> describe_group_table(ServedFile& file, const OpenedObject& group,
                                                   RequestBudget& budget, bool measured) {
  H5_ASSIGN(const Found found, find_columns(file, group, budget, measured));
  if (found.members.empty()) return nullptr;
  H5_ASSIGN(auto joined, dataset::describe_joined(group.object.address, found.members));
  return std::make_shared<const object::DatasetDescription>(std::move(joined));
}

Result<GroupTable::Members> GroupTable::members(RequestBudget& budget) {
  return members_.get(
      [&]() -> Result<Members> {
        H5_ASSIGN(const OpenedObjectPtr group, file_->object(address_, budget));
        H5_ASSIGN(std::vector<GroupColumn> columns, group_columns(*file_, *group, budget, true));
        if (columns.empty()) return fail({ErrorCode::NotFound, "the group is no table"});
        auto out = std::make_shared<std::vector<Member>>();
        for (GroupColumn& column : columns) {
          auto image =
              std::make_shared<DatasetImage>(file_, column.address, LinkPlace{address_, column.name});
          out->push_back({std::move(column.name), std::move(image)});
        }
        return out;
      },
      &budget);
}

Result<DatasetDescriptionPtr> GroupTable::newest_description(RequestBudget& budget, bool measured) {
  H5_ASSIGN(const Members all, members(budget));
  std::vector<dataset::JoinedMember> described;
  for (const Member& member : *all) {
    H5_ASSIGN(DatasetDescriptionPtr dataset, member.image->newest_description(budget, measured));
    if (member.image->is_virtual()) is_virtual_ = true;
    described.push_back({member.name, std::move(dataset)});
  }
  H5_ASSIGN(auto joined, dataset::describe_joined(address_, described));
  return std::make_shared<const object::DatasetDescription>(std::move(joined));
}

Result<DatasetReaderPtr> GroupTable::newest_reader(RequestBudget& budget) {
  H5_ASSIGN(const Members all, members(budget));
  std::vector<DatasetImage::NumberedReader> newest;
  for (const Member& member : *all) {
    H5_ASSIGN(newest.emplace_back(), member.image->newest_numbered_reader(budget));
    if (member.image->is_virtual()) is_virtual_ = true;
  }
  const MutexLock lock(mutex_);
  // Another request may have read a later state of some members.
  for (std::size_t i = 0; i < readers_.size(); ++i)
    if (readers_[i].number >= newest[i].number) newest[i] = readers_[i];
  const bool same = joined_ && std::ranges::equal(readers_, newest, {}, &DatasetImage::NumberedReader::reader,
                                                  &DatasetImage::NumberedReader::reader);
  if (same) return joined_;
  std::vector<dataset::JoinedMember> described;
  std::vector<DatasetReaderPtr> readers;
  for (std::size_t i = 0; i < newest.size(); ++i) {
    described.push_back({(*all)[i].name, {newest[i].reader, &newest[i].reader->description()}});
    readers.push_back(newest[i].reader);
  }
  H5_ASSIGN(auto joined, dataset::describe_joined(address_, described));
  joined_ = dataset::open_joined(std::move(joined), std::move(readers), joined_);
  readers_ = std::move(newest);
  return joined_;
}

void GroupTable::note_failure(std::uint64_t offset, const Error& error) {
  file_->failures().note(address_, file_->metadata()->number(), offset, error);
  if (file_->context().options.logs_failed_reads) file_->report(file_->path_of(place_), error);
}

void GroupTable::note_missing_sources(const DatasetReaderPtr&) {
  const auto known = members_.peek();
  if (!known || !is_virtual_) return;
  std::vector<DatasetReaderPtr> readers;
  {
    const MutexLock lock(mutex_);
    for (const auto& numbered : readers_) readers.push_back(numbered.reader);
  }
  for (std::size_t i = 0; i < readers.size(); ++i) (**known)[i].image->note_missing_sources(readers[i]);
}

}  // namespace h5mount::tree
