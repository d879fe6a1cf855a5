#include "spool.h"

#include <algorithm>

namespace h5mount::tree {

Status Spool::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t some = std::min(bytes.size(), kTailBytes - tail_.size());
    tail_.append(bytes.substr(0, some));
    bytes.remove_prefix(some);
    if (tail_.size() == kTailBytes) H5_TRY(write_tail());
  }
  return {};
}

Status Spool::write_tail() {
  constexpr std::uint64_t kLook = 64U << 20;  // bytes between two looks at the free space
  if (!file_) {
    H5_ASSIGN(file_, TemporaryFile::make());
  }
  if (on_disk_ + tail_.size() > allowed_) {
    const std::uint64_t most = (file_.free_bytes() + on_disk_) / 2;
    if (on_disk_ + tail_.size() > most)
      return fail(
          Error(ErrorCode::LimitExceeded, std::string("a text about many files needs more space than ") +
                                              TemporaryFile::directory() + " has")
              .with_expected(most));
    allowed_ = std::min(most, on_disk_ + kLook);
  }
  H5_TRY(file_.write_at(as_bytes(tail_), on_disk_));
  on_disk_ += tail_.size();
  tail_.clear();
  return {};
}

Status Spool::read(std::uint64_t offset, std::uint64_t length, std::string& out) const {
  constexpr std::uint64_t kMax = 4U << 20;
  length = std::min({length, kMax, size() - std::min(offset, size())});
  const std::uint64_t stored = std::min(length, on_disk_ - std::min(offset, on_disk_));
  const std::size_t begin = out.size();
  out.resize(begin + static_cast<std::size_t>(stored));
  const MutableByteSpan into = std::as_writable_bytes(std::span(out)).subspan(begin);
  if (stored > 0) H5_TRY(file_.read_at(into, offset));
  if (length > stored)
    out.append(tail_, static_cast<std::size_t>(offset + stored - on_disk_),
               static_cast<std::size_t>(length - stored));
  return {};
}

}  // namespace h5mount::tree
