// A source that fails at the read whose number a test sets, once or for as long as the test wants, and is
// well afterwards.
#pragma once

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "h5mount/io/byte_source.h"

namespace h5mount::test {

class FailsOnce final : public io::ByteSource {
 public:
  FailsOnce(std::vector<std::byte> bytes, bool far) : bytes_(std::move(bytes)), far_(far) {}

  Status read_at(std::uint64_t offset, MutableByteSpan out) const override {
    ++reads;
    if (left > 0 && --left == 0) {
      if (goes_on) left = 1;
      return fail(why);
    }
    if (out.size() > bytes_.size() || offset > bytes_.size() - out.size())
      return fail(Error(ErrorCode::Truncated, "Source", "bytes", offset));
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return {};
  }
  std::uint64_t size() const override { return bytes_.size(); }
  std::string name() const override { return "fails once"; }
  bool far() const override { return far_; }
  std::size_t block_bytes() const override { return far_ ? 4096 : ByteSource::block_bytes(); }

  mutable std::atomic<int> left = 0, reads = 0;  // until it fails, 0: it is well; and made so far
  bool goes_on = false;                          // it fails until `left` is 0
  Error why{ErrorCode::Io, "no answer"};

 private:
  const std::vector<std::byte> bytes_;
  const bool far_;
};

}  // namespace h5mount::test
