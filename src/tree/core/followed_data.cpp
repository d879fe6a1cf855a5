#include "followed_data.h"

namespace h5mount::tree {

// What failed for a moment is told and not kept: the next read may succeed. What a disk does not give, and
// what takes more work or memory than there is, is kept until a read of it succeeds.
void FollowedData::note_failure(std::uint64_t offset, const Error& error) {
  const bool exceeds = error.code() == ErrorCode::BudgetExceeded || error.code() == ErrorCode::OutOfMemory;
  if (exceeds || is_of_range(error) || !is_passing(error))
    file_->failures().note(address_, file_->metadata()->number(), offset, error);
  if (file_->context().options.logs_failed_reads) file_->report(file_->path_of(place_), error);
}

}  // namespace h5mount::tree
