// ReadTarget: the memory that a read of a source fills, front to back. It counts what was filled, so that a
// read which ends too early is found, whatever the cause, and memory that nobody wrote is never taken for
// bytes of a source. Every ByteSource reads by `fill_whole`. Threads: one.
#pragma once

#include <algorithm>

#include "h5mount/io/byte_source.h"

namespace h5mount::io {

class ReadTarget {
 public:
  explicit ReadTarget(MutableByteSpan out) : rest_(out) {}

  // The memory that is still to be filled.
  MutableByteSpan rest() const { return rest_; }
  std::size_t left() const { return rest_.size(); }
  // The first `bytes` of `rest` have been filled.
  void filled(std::size_t bytes) { rest_ = rest_.subspan(std::min(bytes, rest_.size())); }
  // Fills as many bytes as there are, at most all.
  void copy(ByteSpan bytes);
  // Fills the next `bytes` bytes, at most `left`, with those of a source.
  Status read(const ByteSource& from, std::uint64_t offset, std::size_t bytes);

 private:
  MutableByteSpan rest_;
};

// The status of a read that was not whole: `read`, if that is an error already, else one that says so. Clears
// what was not filled.
Status not_whole(std::uint64_t offset, MutableByteSpan out, const ReadTarget& to, Status read);

// Reads by `fill`, a function that takes a ReadTarget& and fills all of it: succeeds only if it did.
template <class Fill>
Status fill_whole(std::uint64_t offset, MutableByteSpan out, Fill fill) {
  ReadTarget to(out);
  Status read = fill(to);
  return to.left() == 0 ? read : not_whole(offset, out, to, std::move(read));
}

}  // namespace h5mount::io
