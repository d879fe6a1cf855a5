#include "h5mount/check/check.h"

#include <algorithm>
#include <utility>

#include "accounting_metadata.h"
#include "allocated_space.h"
#include "context.h"
#include "fields.h"
#include "h5mount/base/structures.h"
#include "h5mount/format/superblock.h"

namespace h5mount::check {

namespace {

// Whether the file is a set, whose members lie far apart in the address space.
bool is_set(const metadata::FileMetadata& file) {
  const std::uint64_t size = file.source()->size(), stored = file.source()->stored_bytes();
  return stored != size && stored != file.base_address() + size;
}

// Checks the length that the file itself states: first against that of the file, and once all is known
// against what is stored, up to `used`.
void check_length(const Context& context, std::uint64_t used) {
  const metadata::FileMetadata& file = *context.metadata;
  const format::Superblock& superblock = file.superblock();
  const std::uint64_t base = file.base_address(), end = file.source()->size();
  const std::uint64_t stated = superblock.end_from_base();
  if (is_set(file) || superblock.open_for_swmr_writing()) return;
  const auto error = [&](ErrorCode code, std::uint64_t is, std::uint64_t expected, const char* why) {
    return Error(code, structures::kSuperblock, "end_of_file_address", base)
        .with_found(base + is)
        .with_expected(base + expected)
        .with_detail(why);
  };
  if (used == 0 && stated > end)
    context.tally.found("", error(ErrorCode::Truncated, end, stated, "the file is cut short"));
  if (used == 0 && stated < end)
    context.tally.note("", error(ErrorCode::InvalidValue, end, stated, "bytes lie behind the file's end"));
  if (stated < std::min(used, end))
    context.tally.found(
        "", error(ErrorCode::InvalidValue, stated, used, "what is stored reaches behind the file's end"));
}

// The number of hard links to an object stands in its header.
void check_link_counts(const Context& context) {
  if (!context.tally.go_on()) return;
  for (PlaceId place = 0; place < context.places.size(); ++place) {
    const auto counts = context.places.miscount(place);
    if (!counts) continue;
    const auto header = metadata::load_object_header(*context.metadata, context.places.address(place));
    if (!header) continue;
    const auto* message = (*header)->find(format::MessageType::ObjectReferenceCount);
    const bool old = (*header)->version == 1;
    constexpr std::uint64_t kCountAt = 4;  // in headers of version 1
    const Error error(ErrorCode::InvalidValue,
                      old || message == nullptr ? structures::kObjectHeader : "ObjectReferenceCountMessage",
                      "reference_count",
                      old                  ? context.metadata->base_address() + (*header)->address + kCountAt
                      : message == nullptr ? context.metadata->base_address() + (*header)->address
                                           : message->offset + 1);
    context.disagrees(place, error.with_found(counts->stated)
                                 .with_expected(counts->found)
                                 .with_detail("so many hard links lead to the object"));
  }
}

// Checks the objects level by level, those of one level in parallel.
void check_objects(const Context& context) {
  for (PlaceId first = 0, end = 1; first < end && context.tally.go_on();
       first = end, end = context.places.size())
    for_each(context.environment.workers.get(), end - first, context.tally,
             [&](std::uint64_t i) { check_object(context, first + static_cast<PlaceId>(i)); });
  if (context.places.full())
    context.tally.found("", {ErrorCode::LimitExceeded, "more objects, or longer names, than are checked"});
}

UnaccountedSpace unaccounted_in(const AllocatedSpace& space, const metadata::FileMetadata& file) {
  UnaccountedSpace out;
  const std::uint64_t end = std::min(file.source()->size(), file.superblock().end_from_base());
  space.for_each_gap(end, [&](const ByteRange& gap) {
    UnaccountedSpace::Range range{file.base_address() + gap.begin, gap.end - gap.begin};
    out.bytes += range.bytes;
    out.ranges += 1;
    for (UnaccountedSpace::Range& named : out.largest)
      if (range.bytes > named.bytes) std::swap(range, named);
  });
  return out;
}

}  // namespace

Totals check_file(const dataset::ReadEnvironment& environment, const Options& options, Report& report) {
  Tally tally(options, report);
  const object::OpenedFilePtr& file = environment.files->main();
  AllocatedSpace space;
  const auto metadata = std::make_shared<AccountingMetadata>(
      file->snapshot(), space, [&tally](const Error& error) { tally.found("", error); });
  metadata->note_file_structures();
  Places places(metadata->root_address());
  Extents extents(metadata->source()->size());
  ValueWork values(metadata->source()->stored_bytes(), tally);
  Structures structures(metadata->source()->stored_bytes());
  const Context context{environment, file,   metadata,   tally,          places,
                        extents,     values, structures, options.fields, metadata->source()->size()};
  check_length(context, 0);
  check_objects(context);
  check_link_counts(context);
  check_superblock_fields(context);
  for (const std::uint64_t address : metadata->collections()) check_collection_fields(context, address);
  const std::vector<Extent> found = extents.take();
  check_length(context,
               std::max(space.end(), found.empty() ? 0 : std::ranges::max(found, {}, &Extent::end).end));
  if (!options.quick) read_unfiltered(found, *metadata, environment.workers.get(), places, tally);
  if (tally.go_on()) report_overlaps(found, *metadata, places, tally);
  Totals totals = tally.totals();
  if (!tally.go_on() || places.full() || is_set(*metadata)) return totals;
  for (const Extent& extent : found) space.add(extent.begin, extent.end - extent.begin);
  totals.unaccounted = unaccounted_in(space, *metadata);
  return totals;
}

}  // namespace h5mount::check
