#include "group_table.h"

#include "../objects/damaged_lists.h"
#include "../objects/group_contents.h"
#include "categories.h"
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

struct Found {
  std::vector<GroupColumn> columns;
  std::vector<dataset::JoinedMember> members;  // the same, described
};

// An object as a column.
struct FoundColumn {
  GroupColumn column;
  DatasetDescriptionPtr described;  // null where it is no column
};

Result<FoundColumn> find_column(ServedFile& file, const OpenedObject& object, std::string name,
                                RequestBudget& budget, bool measured) {
  H5_ASSIGN(const std::optional<CategoricalPlace> categorical, find_categorical(file, object, budget));
  FoundColumn out{{std::move(name), object.object.address}, nullptr};
  if (!categorical && object.object.kind != object::ObjectKind::Dataset) return out;
  RequestBudget* const sources = measured ? &budget : nullptr;
  if (!categorical) {
    H5_ASSIGN(out.described, description_of(file, object, sources));
    return out;
  }
  out.column.address = categorical->codes;
  out.column.names = categorical->names;
  H5_ASSIGN(const OpenedObjectPtr codes, file.object(categorical->codes, budget));
  H5_ASSIGN(out.described, description_of(file, *codes, sources));
  return out;
}

Result<Found> find_columns(ServedFile& file, const OpenedObject& group, RequestBudget& budget,
                           bool measured) {
  Found found;
  if (group.object.address == file.root_address()) return found;
  H5_ASSIGN(FoundColumn alone, find_column(file, group, "value", budget, measured));
  if (alone.column.names) {
    found.members.push_back({alone.column.name, std::move(alone.described)});
    found.columns.push_back(std::move(alone.column));
    return found;
  }
  if (group.object.kind != object::ObjectKind::Group) return found;
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
    auto described = find_column(file, *object, std::move(link.name), budget, measured);
    if (!described && described.error().code() == ErrorCode::TooLarge) continue;  // no view shows it
    H5_ASSIGN(FoundColumn column, std::move(described));
    if (!column.described || column.described->space.rank() != 1) continue;
    if (!lengths.add(column.described->space)) return Found{};
    found.members.push_back({column.column.name, std::move(column.described)});
    found.columns.push_back(std::move(column.column));
  }
  if (found.columns.size() < 2) return Found{};
  return found;
}

template <class Columns, class Names>
std::vector<object::CategoriesPtr> unknown_names(const Columns& columns, Names names) {
  static const auto kUnknown = std::make_shared<const object::Categories>();
  std::vector<object::CategoriesPtr> out;
  for (const auto& column : columns) out.push_back(column.*names ? kUnknown : nullptr);
  return out;
}

}  // namespace

Result<std::vector<GroupColumn>> group_columns(ServedFile& file, const OpenedObject& object,
                                               RequestBudget& budget, bool measured) {
  H5_ASSIGN(Found found, find_columns(file, object, budget, measured));
  return std::move(found.columns);
}

Result<DatasetDescriptionPtr> describe_group_table(ServedFile& file, const OpenedObject& object,
                                                   RequestBudget& budget, bool measured) {
  H5_ASSIGN(const Found found, find_columns(file, object, budget, measured));
  if (found.members.empty()) return nullptr;
  H5_ASSIGN(auto joined, dataset::describe_joined(object.object.address, found.members));
  joined.categories = unknown_names(found.columns, &GroupColumn::names);
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
          std::shared_ptr<DatasetImage> names;
          if (column.names)
            names = std::make_shared<DatasetImage>(file_, *column.names, LinkPlace{address_, column.name});
          out->push_back({std::move(column.name), std::move(image), std::move(names)});
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
  if (measured) {
    H5_ASSIGN(joined.categories, categories(all, Keep::No, budget));
  } else {
    joined.categories = unknown_names(*all, &Member::names);
  }
  return std::make_shared<const object::DatasetDescription>(std::move(joined));
}

Result<std::vector<NodeSource>> GroupTable::sources(RequestBudget& budget) {
  H5_ASSIGN(const Members all, members(budget));
  std::vector<NodeSource> out;
  for (const Member& member : *all) {
    for (const auto& image : {member.image, member.names}) {
      if (!image) continue;
      H5_ASSIGN(std::vector<NodeSource> more, image->sources(budget));
      out.insert(out.end(), more.begin(), more.end());
    }
  }
  return out;
}

Result<std::vector<object::CategoriesPtr>> GroupTable::categories(const Members& all, Keep keep,
                                                                  RequestBudget& budget) {
  std::vector<Names> names;
  {
    const MutexLock lock(mutex_);
    names = names_;
  }
  names.resize(all->size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!(*all)[i].names) continue;
    H5_ASSIGN(const DatasetImage::NumberedReader newest, (*all)[i].names->newest_numbered_reader(budget));
    if (names[i].number >= newest.number) continue;
    if (auto problem = newest.reader->problem()) return fail(*std::move(problem));
    H5_ASSIGN(object::CategoriesPtr read, read_categories(*file_, *newest.reader, budget));
    names[i] = {newest.number, std::move(read)};
  }
  if (keep == Keep::Yes) {
    const MutexLock lock(mutex_);
    names_.resize(names.size());
    for (std::size_t i = 0; i < names.size(); ++i)  // another request may have read the same ones
      names_[i].number < names[i].number ? names_[i] = names[i] : names[i] = names_[i];
  }
  std::vector<object::CategoriesPtr> out;
  for (Names& one : names) out.push_back(std::move(one.categories));
  return out;
}

Result<DatasetReaderPtr> GroupTable::newest_reader(RequestBudget& budget) {
  H5_ASSIGN(const Members all, members(budget));
  std::vector<DatasetImage::NumberedReader> newest;
  for (const Member& member : *all) {
    H5_ASSIGN(newest.emplace_back(), member.image->newest_numbered_reader(budget));
    if (member.image->is_virtual()) is_virtual_ = true;
  }
  H5_ASSIGN(std::vector<object::CategoriesPtr> names, categories(all, Keep::Yes, budget));
  const MutexLock lock(mutex_);
  // Another request may have read a later state of some members.
  for (std::size_t i = 0; i < readers_.size(); ++i)
    if (readers_[i].number >= newest[i].number) newest[i] = readers_[i];
  const bool same_names = joined_ && joined_->description().categories == names;
  const bool same =
      same_names && std::ranges::equal(readers_, newest, {}, &DatasetImage::NumberedReader::reader,
                                       &DatasetImage::NumberedReader::reader);
  if (same) return joined_;
  std::vector<dataset::JoinedMember> described;
  std::vector<DatasetReaderPtr> readers;
  for (std::size_t i = 0; i < newest.size(); ++i) {
    described.push_back({(*all)[i].name, {newest[i].reader, &newest[i].reader->description()}});
    readers.push_back(newest[i].reader);
  }
  H5_ASSIGN(auto joined, dataset::describe_joined(address_, described));
  joined.categories = std::move(names);
  // Other names make all rows others.
  joined_ = dataset::open_joined(std::move(joined), std::move(readers), same_names ? joined_ : nullptr);
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
