#include "virtual_sources.h"

#include <algorithm>

#include "h5mount/base/limits.h"
#include "numbered_datasets.h"
#include "virtual_names.h"

namespace h5mount::dataset {
namespace {

constexpr std::size_t kMaxSources = 128;       // kept and checked for changes; each holds its file's caches
constexpr std::size_t kMaxWithManyOpen = 32;   // the same if many files are open
constexpr std::size_t kMaxMissing = 1U << 16;  // sources that are counted as missing
constexpr std::chrono::seconds kMissingAgain{1};

template <class List>
auto find_in(List& list, const std::string& file_name, const std::string& dataset) {
  return std::ranges::find_if(
      list, [&](const auto& source) { return source->file_name == file_name && source->dataset == dataset; });
}

Result<object::OpenedFilePtr> open_way(object::FileSet& files, object::OpenedFilePtr from,
                                       const std::vector<std::string>& way) {
  for (const std::string& name : way) {
    H5_ASSIGN(from, files.open_hdf5(from, name, object::NameUse::VirtualSource));
  }
  return from;
}

VirtualSources::Source named(const std::string& file_name, const std::string& dataset) {
  VirtualSources::Source source;
  source.file_name = file_name;
  source.dataset = dataset;
  return source;
}

}  // namespace

VirtualSources::VirtualSources(ReadEnvironment environment, object::OpenedFilePtr from,
                               const VirtualSources* before)
    : environment_(std::move(environment)),
      from_(std::move(from)),
      before_(before != nullptr ? before->all() : std::vector<SourcePtr>()),
      missing_checked_(std::chrono::steady_clock::now()) {}

VirtualSources::SourcePtr VirtualSources::get(const std::string& file_name, const std::string& dataset,
                                              RequestBudget& budget) {
  {
    const MutexLock lock(mutex_);
    if (const auto found = find_in(kept_, file_name, dataset); found != kept_.end()) {
      kept_.splice(kept_.begin(), kept_, found);
      return kept_.front();
    }
  }
  const auto earlier = find_in(before_, file_name, dataset);
  const Source* const before = earlier != before_.end() ? earlier->get() : nullptr;
  auto opened = open(file_name, dataset, before, budget);
  Source source = opened ? std::move(*opened) : named(file_name, dataset);
  if (!opened && opened.error().code() != ErrorCode::NotFound)
    source.error = opened.error().within("virtual source " + file_name + ":" + dataset);
  if (!source.reader && !source.error) source.absent = opened.error();
  source.was_there = before != nullptr && before->reader;
  // The source is not kept, as another request may still open it.
  if (source.error && !opened && is_passing(opened.error()))
    return std::make_shared<const Source>(std::move(source));
  if (!source.reader && source.was_there) source.stale = {kWholeImage};
  std::list<SourcePtr> dropped;
  const MutexLock lock(mutex_);
  if (const auto other = find_in(kept_, file_name, dataset); other != kept_.end()) return *other;
  kept_.push_front(std::make_shared<const Source>(std::move(source)));
  const std::size_t most = environment_.files->many_open() ? kMaxWithManyOpen : kMaxSources;
  while (kept_.size() > most) dropped.splice(dropped.begin(), kept_, std::prev(kept_.end()));
  return kept_.front();
}

Result<VirtualSources::Source> VirtualSources::open(const std::string& file_name, const std::string& dataset,
                                                    const Source* before, RequestBudget& budget) const {
  constexpr unsigned kMaxLinks = 16;  // libhdf5's default
  H5_TRY(budget.spend(file_name == "." ? 0 : limits::kStepsPerSourceFile));
  Source source = named(file_name, dataset);
  if (file_name != ".") source.way.push_back(file_name);
  H5_ASSIGN(source.file, open_way(*environment_.files, from_, source.way));
  std::string path = dataset;
  for (unsigned links = 0;; ++links) {
    std::optional<object::PathWork::Leaving> leaving;
    const Status opened = open_in(source, path, before, budget, leaving);
    if (opened) return source;
    if (!leaving) return fail(opened.error());
    if (links == kMaxLinks) return fail({ErrorCode::LimitExceeded, "too many external links on the way"});
    if (auto unknown = format::unknown_external_form(leaving->link)) return fail(*std::move(unknown));
    H5_TRY(budget.spend(limits::kStepsPerSourceFile));
    // The source's bytes are shown with the rights of the virtual dataset's file, as those of any source.
    H5_ASSIGN(source.file,
              environment_.files->open_hdf5(source.file, leaving->link.file, object::NameUse::VirtualSource));
    source.way.push_back(leaving->link.file);
    path = leaving->link.target + leaving->rest;
  }
}

// Opens the dataset at `path` of the source's file. If an external link is on the way, `leaving` is set.
Status VirtualSources::open_in(Source& source, const std::string& path, const Source* before,
                               RequestBudget& budget,
                               std::optional<object::PathWork::Leaving>& leaving) const {
  metadata::FollowedFile& followed = *source.file->followed;
  if (source.file != from_) budget.allow_more(followed.source()->stored_bytes());
  (void)followed.revalidate();  // errors are ignored: if the file is stale, its reads fail
  const metadata::FileMetadataPtr newest = followed.snapshot();
  source.snapshot = newest->number();
  source.followed = newest->following();
  // If the file was not followed, any of its bytes may have changed since.
  const bool known = before != nullptr && before->reader && before->file == source.file &&
                     before->followed == source.followed;
  if (known && before->snapshot == source.snapshot && !before->reader->sources_changed()) {
    source.reader = before->reader;
    return {};
  }
  const auto open_dataset = [&](const metadata::FileMetadataPtr& snapshot) -> Result<NextReader> {
    H5_TRY(budget.spend(limits::kStepsPerSource));
    Unbounded names;
    object::PathWork work{.budget = names};
    const auto address = object::resolve_path(snapshot, snapshot->root_address(), path, work);
    leaving = std::move(work.leaving);
    if (!address) return fail(address.error());
    H5_ASSIGN(const auto object, object::open_object(*snapshot, *address));
    if (object.kind != object::ObjectKind::Dataset)
      return fail(Error(ErrorCode::NotFound, path + " is not a dataset"));
    H5_ASSIGN(auto described, object::describe_dataset(*snapshot, object));
    return open_next_dataset(environment_, source.file, std::move(described),
                             known ? before->reader : nullptr, budget);
  };
  H5_ASSIGN(NextReader next, metadata::retry_torn(followed, "virtual source", budget, open_dataset));
  source.reader = std::move(next.reader);
  source.stale = std::move(next.stale);
  if (before != nullptr && !known) source.stale = {kWholeImage};
  return {};
}

std::function<Result<std::shared_ptr<metadata::FollowedFile>>()> VirtualSources::opener_of(
    const Source& source) const {
  return [files = std::weak_ptr(environment_.files), from = std::weak_ptr(from_),
          way = source.way]() -> Result<std::shared_ptr<metadata::FollowedFile>> {
    const auto all = files.lock();
    const auto first = from.lock();
    if (!all || !first) return fail({ErrorCode::Stale, "the virtual dataset's file was closed"});
    H5_ASSIGN(const object::OpenedFilePtr file, open_way(*all, first, way));
    return std::shared_ptr<metadata::FollowedFile>(file, file->followed.get());
  };
}

std::uint64_t VirtualSources::count_numbered(const std::string& file_name, const std::string& dataset,
                                             std::uint64_t most, RequestBudget& budget) const {
  if (has_block_number(file_name) || !budget.spend(file_name == "." ? 0 : limits::kStepsPerSourceFile))
    return 0;
  const std::string name = plain_name(file_name);
  const auto file = name == "." ? Result<object::OpenedFilePtr>(from_)
                                : environment_.files->open_hdf5(from_, name, object::NameUse::VirtualSource);
  if (!file) return 0;
  return count_numbered_datasets((*file)->followed->snapshot(), dataset, most, budget);
}

bool VirtualSources::changed() const {
  if (reopened_) return true;
  for (const SourcePtr& source : all()) {
    if (!source->reader) continue;
    metadata::FollowedFile& file = *source->file->followed;
    (void)file.revalidate();
    if (file.snapshot()->number() != source->snapshot || source->reader->sources_changed()) return true;
  }
  return missing_came();
}

bool VirtualSources::missing_came() const {
  const auto now = std::chrono::steady_clock::now();
  {
    const MutexLock lock(mutex_);
    if (now - missing_checked_ < kMissingAgain) return false;
    missing_checked_ = now;
  }
  RequestBudget budget;
  return std::ranges::any_of(all(), [&](const SourcePtr& source) {
    return !source->reader && open(source->file_name, source->dataset, nullptr, budget).has_value();
  });
}

std::vector<VirtualSources::SourcePtr> VirtualSources::renew(RequestBudget& budget) {
  std::vector<SourcePtr> out;
  for (const SourcePtr& before : before_) {
    SourcePtr now = get(before->file_name, before->dataset, budget);
    if (!now->stale.empty()) out.push_back(std::move(now));
  }
  before_.clear();
  return out;
}

void VirtualSources::note_missing(const Source& source) {
  const std::string name = source.file_name + ":" + source.dataset;
  const MutexLock lock(mutex_);
  if (missing_.size() >= kMaxMissing) return;
  if (missing_.empty()) first_missing_ = name;
  missing_.insert(std::hash<std::string>{}(name));
}

MissingSources VirtualSources::missing() const {
  const MutexLock lock(mutex_);
  return {missing_.size(), first_missing_};
}

void VirtualSources::drop(const SourcePtr& source) {
  reopened_ = true;
  const MutexLock lock(mutex_);
  kept_.remove(source);
}

std::vector<VirtualSources::SourcePtr> VirtualSources::all() const {
  const MutexLock lock(mutex_);
  return {kept_.begin(), kept_.end()};
}

}  // namespace h5mount::dataset
