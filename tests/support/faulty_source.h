// A source that counts reads, fails those that touch a bad byte, and can be truncated: for tests of a
// reader's behaviour on I/O errors.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>
#include <vector>

#include "h5mount/io/byte_source.h"

namespace h5mount::test {

class FaultySource final : public io::ByteSource {
 public:
  explicit FaultySource(std::vector<std::byte> bytes) : bytes_(std::move(bytes)), end_(bytes_.size()) {}

  Status read_at(std::uint64_t offset, MutableByteSpan out) const override {
    ++reads;
    if (bad_byte && *bad_byte >= offset && *bad_byte - offset < out.size())
      return fail(io_error(EIO, "faulty source"));
    if (offset > end_ || out.size() > end_ - offset)
      return fail(Error(ErrorCode::Truncated, "FaultySource", "bytes", offset));
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return {};
  }
  std::uint64_t size() const override { return end_; }
  std::string name() const override { return "faulty"; }

  // Truncates the source.
  void cut(std::uint64_t end) { end_ = end; }

  mutable std::atomic<unsigned> reads = 0;
  std::optional<std::uint64_t> bad_byte;

 private:
  std::vector<std::byte> bytes_;
  std::uint64_t end_;
};

}  // namespace h5mount::test
