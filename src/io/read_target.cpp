#include "h5mount/io/read_target.h"

namespace h5mount::io {

void ReadTarget::copy(ByteSpan bytes) {
  const std::size_t count = std::min(bytes.size(), rest_.size());
  if (count > 0) std::memcpy(rest_.data(), bytes.data(), count);
  filled(count);
}

Status ReadTarget::read(const ByteSource& from, std::uint64_t offset, std::size_t bytes) {
  const MutableByteSpan part = rest_.first(std::min(bytes, rest_.size()));
  H5_TRY(from.read_at(offset, part));
  filled(part.size());
  return {};
}

Status not_whole(std::uint64_t offset, MutableByteSpan out, const ReadTarget& to, Status read) {
  // The memory may have others' bytes, which nobody is to see whatever becomes of the error.
  std::ranges::fill(to.rest(), std::byte{0});
  if (!read) return read;
  const std::uint64_t at = offset + (out.size() - to.left());
  return fail(Error(ErrorCode::Internal, "Source", "bytes", at).with_detail("the read of them ended early"));
}

}  // namespace h5mount::io
