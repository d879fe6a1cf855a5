#include "open_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "../convert/type_conversion.h"
#include "h5mount/base/limits.h"
#include "h5mount/dataset/dataset_part.h"
#include "h5mount/dataset/readers_over.h"

namespace h5mount::dataset {
namespace {

object::DatasetDescription with_type(const object::DatasetDescription& dataset,
                                     const format::DatatypePtr& type) {
  DatasetPart all = whole_dataset(dataset);
  all.type = type;
  return describe_part(dataset, all);
}

// A part with elements of the type of the whole.
class ConvertedPart final : public UnitsReader {
 public:
  ConvertedPart(DatasetReaderPtr part, const format::DatatypePtr& type,
                std::shared_ptr<const TypeConversion> conversion)
      : UnitsReader(with_type(part->description(), type), part, part->description().element_size, type->size),
        conversion_(std::move(conversion)) {}

 private:
  // Members of a compound that the part lacks are zeros.
  Status make(ByteSpan stored, MutableByteSpan shown) const override {
    const format::Datatype& type = *description().type;
    if (type.cls == format::DatatypeClass::Compound) std::ranges::fill(shown, std::byte{0});
    return conversion_->convert(shown.size() / type.size, stored, shown);
  }

  const std::shared_ptr<const TypeConversion> conversion_;
};

}  // namespace

OpenParts::OpenParts(const ReadEnvironment& environment, std::shared_ptr<const ConcatenatedDataset> whole,
                     const OpenParts* before, std::size_t most)
    : whole_(std::move(whole)),
      most_(environment.files != nullptr && environment.files->many_open() ? std::min(most, kMostWithManyOpen)
                                                                           : most) {
  if (before != nullptr) take_over(*before);
}

// A part whose file has grown, or a source of which has changed, is opened again.
void OpenParts::take_over(const OpenParts& before) {
  std::unordered_map<std::uint64_t, OpenPartPtr> open;
  for (auto& [part, known] : before.all()) {
    const object::OpenedFilePtr& file = known->opened.file;
    if (!known->reader || known->opened.reader->sources_changed()) continue;
    if (file != nullptr && file->snapshot()->number() != known->snapshot) continue;
    open.emplace(before.whole_->parts->identity(part), known);
  }
  const std::size_t count = whole_->parts->starts().size() - 1;
  for (std::size_t part = 0; part < count && !open.empty(); ++part) {
    const auto known = open.find(whole_->parts->identity(part));
    if (known == open.end()) continue;
    auto same = as_part_of_whole(part, known->second->opened, known->second->snapshot);
    open.erase(known);
    if (!same) continue;
    auto slot = std::make_shared<OnceValue<OpenPartPtr>>();
    (void)slot->get([&] { return std::move(same); }, Unbounded());
    const MutexLock lock(mutex_);
    kept_.emplace_back(part, std::move(slot));
    index_.emplace(part, std::prev(kept_.end()));
  }
}

Result<OpenPartPtr> OpenParts::get(std::size_t part, RequestBudget& budget) const {
  Slot slot;
  std::list<Entry> dropped;  // destroyed without the lock
  {
    const MutexLock lock(mutex_);
    const auto known = index_.find(part);
    if (known != index_.end()) {
      kept_.splice(kept_.begin(), kept_, known->second);
    } else {
      kept_.emplace_front(part, std::make_shared<OnceValue<OpenPartPtr>>());
      index_.emplace(part, kept_.begin());
      while (kept_.size() > most_) {
        index_.erase(kept_.back().first);
        dropped.splice(dropped.begin(), kept_, std::prev(kept_.end()));
      }
    }
    slot = kept_.front().second;
  }
  return slot->get([&] { return open(part, budget); }, budget);
}

Result<OpenPartPtr> OpenParts::open(std::size_t part, RequestBudget& budget) const {
  H5_TRY(budget.spend(limits::kStepsPerSourceFile + limits::kStepsPerSource));
  H5_ASSIGN(OpenedPart opened, whole_->parts->open(part, budget));
  if (opened.reader == nullptr) return std::make_shared<const OpenPart>();
  std::uint64_t snapshot = 0;
  if (opened.file != nullptr) {
    budget.allow_more(opened.file->followed->source()->stored_bytes());
    snapshot = opened.file->snapshot()->number();
  }
  return as_part_of_whole(part, std::move(opened), snapshot);
}

Result<OpenPartPtr> OpenParts::as_part_of_whole(std::size_t part, OpenedPart opened,
                                                std::uint64_t snapshot) const {
  OpenPart out{.opened = std::move(opened), .reader = nullptr, .snapshot = snapshot};
  H5_TRY(check_shape(part, out));
  H5_ASSIGN(out.reader, converted(part, out.opened));
  return std::make_shared<const OpenPart>(std::move(out));
}

// The part may have more places along the dimension than the whole shows, and lack the dimension if it has
// one place.
Status OpenParts::check_shape(std::size_t part, OpenPart& open) const {
  const std::size_t d = whole_->dimension;
  const auto& starts = whole_->parts->starts();
  const std::uint64_t shown = starts[part + 1] - starts[part];
  const object::DatasetDescription& own = open.opened.reader->description();
  std::vector<std::uint64_t> dims = own.space.dims;
  std::vector<std::uint64_t> expected = whole_->description.space.dims;
  if (expected.empty() && dims.empty() && own.space.kind != format::DataspaceKind::Null)
    return open.extent = 1, Status();
  if (dims.size() + 1 == expected.size()) dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(d), 1);
  if (dims.size() == expected.size() && !dims.empty() && dims[d] >= shown) {
    open.extent = dims[d];
    expected[d] = dims[d];
    if (dims == expected && own.space.kind != format::DataspaceKind::Null) return {};
  }
  return fail({ErrorCode::Stale, "the dataset has another shape than it was joined with"});
}

Result<DatasetReaderPtr> OpenParts::converted(std::size_t part, const OpenedPart& opened) const {
  const format::DatatypePtr& from = opened.reader->description().type;
  const format::DatatypePtr& to = whole_->description.type;
  HeapMove move;
  if (to->has_variable_part && opened.file != nullptr) {
    const metadata::FileMetadataPtr from_file = opened.file->snapshot(), to_file = whole_->file->snapshot();
    move = {.from_sizes = from_file->sizes(),
            .to_sizes = to_file->sizes(),
            .from_heaps = from_file->foreign_heaps(),
            .to_heaps = to_file->foreign_heaps(),
            .same_file = opened.file->followed == whole_->file->followed,
            // What has taken the file's name is another file.
            .name = fmt::format("{}#{:x}", opened.file->path, whole_->parts->identity(part)),
            .open = opened.reopen};
    if (move.open == nullptr)
      move.open = []() -> Result<std::shared_ptr<metadata::FollowedFile>> {
        return fail({ErrorCode::Stale, "the file was closed"});
      };
  }
  H5_ASSIGN(auto conversion, TypeConversion::make(from, to, move));
  if (conversion->identity()) return opened.reader;
  const object::DatasetDescription& own = opened.reader->description();
  const auto bytes = checked_mul(own.image_bytes / own.element_size, to->size);
  if (!bytes || *bytes > static_cast<std::uint64_t>(INT64_MAX))
    return fail({ErrorCode::TooLarge, "larger than a file can be"});
  return std::make_shared<const ConvertedPart>(opened.reader, to, std::move(conversion));
}

Status OpenParts::confirm_unchanged(std::size_t part, const OpenPart& open) const {
  if (open.opened.file != nullptr) H5_TRY(open.opened.file->followed->confirm_unchanged());
  return whole_->parts->check(part);
}

void OpenParts::drop(std::size_t part) const {
  std::list<Entry> dropped;
  const MutexLock lock(mutex_);
  const auto known = index_.find(part);
  if (known == index_.end()) return;
  dropped.splice(dropped.begin(), kept_, known->second);
  index_.erase(known);
}

std::vector<std::pair<std::size_t, OpenPartPtr>> OpenParts::all() const {
  std::vector<Entry> entries;
  {
    const MutexLock lock(mutex_);
    entries.assign(kept_.begin(), kept_.end());
  }
  std::vector<std::pair<std::size_t, OpenPartPtr>> out;
  for (const auto& [part, slot] : entries)
    if (const auto open = slot->peek()) out.emplace_back(part, *open);
  return out;
}

bool OpenParts::changed() const {
  return std::ranges::any_of(all(), [](const auto& entry) {
    const OpenedPart& opened = entry.second->opened;
    if (opened.reader == nullptr) return false;
    if (opened.file != nullptr) {
      metadata::FollowedFile& followed = *opened.file->followed;
      (void)followed.revalidate();
      if (followed.snapshot()->number() != entry.second->snapshot) return true;
    }
    return opened.reader->sources_changed();
  });
}

std::vector<std::size_t> OpenParts::parts_with_other_sources() const {
  std::vector<std::size_t> out;
  for (const auto& [part, open] : all())
    if (open->opened.reader != nullptr && open->opened.reader->sources_changed()) out.push_back(part);
  return out;
}

std::size_t OpenParts::memory_bytes() const {
  std::size_t out = 0;
  for (const auto& [part, open] : all())
    if (open->opened.reader != nullptr) out += sizeof(OpenPart) + open->opened.reader->memory_bytes();
  return out;
}

}  // namespace h5mount::dataset
