#include "h5mount/check/check.h"

#include <algorithm>
#include <utility>

#include "accounting_metadata.h"
#include "allocated_space.h"
#include "for_each.h"
#include "h5mount/format/superblock.h"
#include "object_check.h"

namespace h5mount::check {

namespace {

// Checks the length that the file itself states. The members of file sets lie far apart in the address space.
void check_length(const Context& context) {
  const metadata::FileMetadata& file = *context.metadata;
  const format::Superblock& superblock = file.superblock();
  const std::uint64_t base = file.base_address(), end = file.source()->size();
  const std::uint64_t stated = superblock.end_from_base();
  const std::uint64_t stored = file.source()->stored_bytes();
  const bool set = stored != end && stored != base + end;
  if (set || superblock.open_for_swmr_writing() || stated == end) return;
  const bool cut = stated > end;
  const Error error =
      Error(cut ? ErrorCode::Truncated : ErrorCode::InvalidValue, "Superblock", "end_of_file_address", base)
          .with_found(base + end)
          .with_expected(base + stated)
          .with_detail(cut ? "the file is cut short" : "bytes lie behind the file's end");
  cut ? context.tally.found("", error) : context.tally.note("", error);
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
  space.for_each_gap(end, [&](const SpaceRange& gap) {
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
  const Context context{environment, file, metadata, tally, places, extents, values};
  check_length(context);
  check_objects(context);
  const std::vector<Extent> found = extents.take();
  if (!options.quick) read_unfiltered(found, *metadata, environment.workers.get(), places, tally);
  if (tally.go_on()) report_overlaps(found, *metadata, places, tally);
  Totals totals = tally.totals();
  const std::uint64_t size = metadata->source()->size(), stored = metadata->source()->stored_bytes();
  const bool set = stored != size && stored != metadata->base_address() + size;
  if (!tally.go_on() || places.full() || set) return totals;
  for (const Extent& extent : found) space.add(extent.begin, extent.end - extent.begin);
  totals.unaccounted = unaccounted_in(space, *metadata);
  return totals;
}

}  // namespace h5mount::check
