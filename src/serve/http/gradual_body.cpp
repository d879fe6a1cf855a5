#include "gradual_body.h"

#include <algorithm>
#include <cstring>

namespace h5mount::serve {

Status GradualBody::begin(RequestWork& work) {
  H5_TRY(add(work.most_text(), Pause::Never, work));
  if (ended_) size_ = pending_.size();
  return {};
}

Result<std::size_t> GradualBody::read(MutableByteSpan out, RequestWork& work) {
  H5_TRY(add(given_ + out.size(), Pause::WhenOld, work));
  const std::size_t count = std::min(out.size(), pending_.size() - given_);
  std::memcpy(out.data(), pending_.data() + given_, count);
  given_ += count;
  // Bytes that the client has are not held, even if something is left for the next part.
  if (2 * given_ >= pending_.size()) {
    pending_ = pending_.substr(given_);
    given_ = 0;
  }
  return count;
}

// Adds parts until `bytes` bytes are pending; with Pause::WhenOld one part suffices once the job is old.
Status GradualBody::add(std::size_t bytes, Pause pause, RequestWork& work) {
  while (!ended_ && pending_.size() < bytes &&
         (pending_.size() == given_ || pause == Pause::Never || !work.job_is_old())) {
    const std::size_t before = pending_.size();
    wanted_ = bytes - before;
    H5_TRY(add_next(pending_, work));
    work.gave(pending_.size() - before);
  }
  return confirm();
}

}  // namespace h5mount::serve
