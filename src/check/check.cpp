#include "h5mount/check/check.h"

#include "for_each.h"
#include "h5mount/format/superblock.h"
#include "object_check.h"

namespace h5mount::check {

namespace {

// The file's own claim about its length. Members of file sets lie far apart in the address space.
void check_length(const Context& context) {
  const metadata::FileMetadata& file = *context.metadata;
  const format::Superblock& superblock = file.superblock();
  const std::uint64_t end = file.base_address() + file.addresses()->size();
  const bool set = file.addresses()->stored_bytes() != file.addresses()->size();
  if (set || superblock.open_for_swmr_writing() || superblock.end_of_file == end) return;
  const bool cut = superblock.end_of_file > end;
  const Error error = Error(cut ? ErrorCode::Truncated : ErrorCode::InvalidValue, "Superblock",
                            "end_of_file_address", file.base_address())
                          .with_found(end)
                          .with_expected(superblock.end_of_file)
                          .with_detail(cut ? "the file is cut short" : "bytes lie behind the file's end");
  cut ? context.tally.found("", error) : context.tally.note("", error);
}

// Objects level by level, those of one level side by side.
void check_objects(const Context& context) {
  for (PlaceId first = 0, end = 1; first < end && context.tally.go_on();
       first = end, end = context.places.size())
    for_each(context.environment.workers.get(), end - first, context.tally,
             [&](std::uint64_t i) { check_object(context, first + static_cast<PlaceId>(i)); });
  if (context.places.full())
    context.tally.found("", {ErrorCode::LimitExceeded, "more objects, or longer names, than are checked"});
}

}  // namespace

Totals check_file(const dataset::ReadEnvironment& environment, const Options& options, Report& report) {
  Tally tally(options, report);
  const object::OpenedFilePtr& file = environment.files->main();
  const metadata::FileMetadataPtr metadata = file->snapshot();
  Places places(metadata->root_address());
  Extents extents(metadata->addresses()->size());
  const Context context{environment, file, metadata, tally, places, extents};
  check_length(context);
  check_objects(context);
  const std::vector<Extent> found = extents.take();
  if (!options.quick) read_unfiltered(found, *metadata, environment.workers.get(), places, tally);
  if (tally.go_on()) report_overlaps(found, *metadata, places, tally);
  return tally.totals();
}

}  // namespace h5mount::check
