#include "followed_data.h"

namespace h5mount::tree {

void FollowedData::note_failure(std::uint64_t offset, const Error& error) {
  file_->failures().note(address_, file_->metadata()->number(), offset, error);
  if (file_->context().options.logs_failed_reads) file_->report(file_->path_of(place_), error);
}

}  // namespace h5mount::tree
