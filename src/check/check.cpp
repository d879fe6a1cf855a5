#include "h5mount/check/check.h"

#include <algorithm>
#include <utility>

#include "fields.h"
#include "h5mount/base/structures.h"
#include "h5mount/format/superblock.h"
#include "walk.h"

namespace h5mount::check {

Walk::Walk(const object::OpenedFilePtr& file, const dataset::ReadEnvironment* environment,
           const Options& options, Report& report, Observer* observer, StructureRanges* ranges)
    : tally_(options, report),
      metadata_(std::make_shared<AccountingMetadata>(
          file->snapshot(), space_, ranges, [this](const Error& error) { tally_.found("", error); })),
      places_(metadata_->root_address()),
      extents_(metadata_->source()->size()),
      values_(metadata_->source()->stored_bytes(), tally_),
      structures_(metadata_->source()->stored_bytes()),
      context_{environment, file,    metadata_,   tally_,         places_,
               extents_,    values_, structures_, options.fields, metadata_->source()->size(),
               observer} {}

bool Walk::is_set() const {
  const std::uint64_t size = metadata_->source()->size(), stored = metadata_->source()->stored_bytes();
  return stored != size && stored != metadata_->base_address() + size;
}

// Checks the length that the file itself states: first against that of the file, and once all is known
// against what is stored, up to `used`.
void Walk::check_length(std::uint64_t used) {
  const metadata::FileMetadata& file = *metadata_;
  const format::Superblock& superblock = file.superblock();
  const std::uint64_t base = file.base_address(), end = file.source()->size();
  const std::uint64_t stated = superblock.end_from_base();
  if (is_set() || superblock.open_for_swmr_writing()) return;
  const auto error = [&](ErrorCode code, std::uint64_t is, std::uint64_t expected, const char* why) {
    return Error(code, structures::kSuperblock, "end_of_file_address", base)
        .with_found(base + is)
        .with_expected(base + expected)
        .with_detail(why);
  };
  if (used == 0 && stated > end)
    tally_.found("", error(ErrorCode::Truncated, end, stated, "the file is cut short"));
  if (used == 0 && stated < end)
    tally_.note("", error(ErrorCode::InvalidValue, end, stated, "bytes lie behind the file's end"));
  if (stated < std::min(used, end))
    tally_.found(
        "", error(ErrorCode::InvalidValue, stated, used, "what is stored reaches behind the file's end"));
}

// The number of hard links to an object stands in its header.
void Walk::check_link_counts() {
  if (!tally_.go_on()) return;
  for (PlaceId place = 0; place < places_.size(); ++place) {
    const auto counts = places_.miscount(place);
    if (!counts) continue;
    const auto header = metadata::load_object_header(*metadata_, places_.address(place));
    if (!header) continue;
    const auto* message = (*header)->find(format::MessageType::ObjectReferenceCount);
    const bool old = (*header)->version == 1;
    constexpr std::uint64_t kCountAt = 4;  // in headers of version 1
    const Error error(ErrorCode::InvalidValue,
                      old || message == nullptr ? structures::kObjectHeader : "ObjectReferenceCountMessage",
                      "reference_count",
                      old                  ? metadata_->base_address() + (*header)->address + kCountAt
                      : message == nullptr ? metadata_->base_address() + (*header)->address
                                           : message->offset + 1);
    context_.disagrees(place, error.with_found(counts->stated)
                                  .with_expected(counts->found)
                                  .with_detail("so many hard links lead to the object"));
  }
}

// Checks the objects level by level, those of one level in parallel.
void Walk::check_objects() {
  for (PlaceId first = 0, end = 1; first < end && tally_.go_on(); first = end, end = places_.size())
    for_each(context_.workers(), end - first, tally_,
             [&](std::uint64_t i) { check_object(context_, first + static_cast<PlaceId>(i)); });
  if (places_.full())
    tally_.found("", {ErrorCode::LimitExceeded, "more objects, or longer names, than are checked"});
}

void Walk::run() {
  metadata_->note_file_structures();
  check_length(0);
  check_objects();
  check_link_counts();
  if (context_.observer != nullptr) context_.observer->met_all();
  check_superblock_fields(context_);
  for (const std::uint64_t address : metadata_->collections()) check_collection_fields(context_, address);
  data_ = extents_.take();
  check_length(std::max(space_.end(), data_.empty() ? 0 : std::ranges::max(data_, {}, &Extent::end).end));
}

void Walk::for_each_unaccounted(const std::function<void(const ByteRange&)>& visit) const {
  const std::uint64_t end = std::min(metadata_->source()->size(), metadata_->superblock().end_from_base());
  auto extent = data_.begin();
  std::uint64_t at = 0;  // behind all raw data before
  space_.for_each_gap(end, [&](const ByteRange& gap) {
    at = std::max(at, gap.begin);
    for (; extent != data_.end() && extent->begin < gap.end; ++extent) {
      if (extent->begin > at) visit({at, extent->begin});
      at = std::max(at, extent->end);
    }
    if (at < gap.end) visit({at, gap.end});
  });
}

Totals check_file(const dataset::ReadEnvironment& environment, const Options& options, Report& report) {
  Walk walk(environment.files->main(), &environment, options, report);
  walk.run();
  if (!options.quick)
    read_unfiltered(walk.data(), walk.metadata(), environment.workers.get(), walk.places(), walk.tally());
  if (walk.tally().go_on()) report_overlaps(walk.data(), walk.metadata(), walk.places(), walk.tally());
  Totals totals = walk.tally().totals();
  if (!walk.tally().go_on() || walk.places().full() || walk.is_set()) return totals;
  UnaccountedSpace& space = totals.unaccounted;
  walk.for_each_unaccounted([&](const ByteRange& gap) {
    UnaccountedSpace::Range range{walk.metadata().base_address() + gap.begin, gap.end - gap.begin};
    space.bytes += range.bytes;
    space.ranges += 1;
    for (UnaccountedSpace::Range& named : space.largest)
      if (range.bytes > named.bytes) std::swap(range, named);
  });
  return totals;
}

}  // namespace h5mount::check
