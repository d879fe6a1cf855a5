#include "h5mount/check/check.h"

#include <algorithm>
#include <unordered_set>

#include "h5mount/base/limits.h"
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

// Objects level by level, those of one level side by side. An object is checked once, under the first path
// that leads to it.
void check_objects(const Context& context) {
  constexpr std::size_t kBatch = 256;
  std::vector<Child> level{{context.metadata->root_address(), "/"}};
  std::unordered_set<std::uint64_t> seen{context.metadata->root_address()};
  while (!level.empty()) {
    std::vector<Child> next;
    for (std::size_t first = 0; first < level.size() && context.tally.go_on(); first += kBatch) {
      const std::size_t count = std::min(kBatch, level.size() - first);
      std::vector<std::vector<Child>> children(count);
      const auto job = [&](std::size_t i) { check_object(context, level[first + i], children[i]); };
      if (context.environment.workers)
        context.environment.workers->for_each_index(count, job);
      else
        for (std::size_t i = 0; i < count; ++i) job(i);
      for (std::vector<Child>& some : children)
        for (Child& child : some)
          if (seen.size() < limits::kMaxWalkedObjects && seen.insert(child.address).second)
            next.push_back(std::move(child));
    }
    level = std::move(next);
  }
  if (seen.size() >= limits::kMaxWalkedObjects)
    context.tally.found("", {ErrorCode::LimitExceeded, "more objects than are checked of one file"});
}

}  // namespace

Totals check_file(const dataset::ReadEnvironment& environment, const Options& options, Report& report) {
  Tally tally(options, report);
  Extents extents;
  const object::OpenedFilePtr& file = environment.files->main();
  const Context context{environment, file, file->snapshot(), tally, extents};
  check_length(context);
  check_objects(context);
  if (tally.go_on()) extents.report_overlaps(context.metadata->base_address(), tally);
  return tally.totals();
}

}  // namespace h5mount::check
