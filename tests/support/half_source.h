// A source with a bug: it fills half of what it is asked for, and says that all is well. For tests that
// nobody takes the other half for its bytes.
#pragma once

#include <string>

#include "h5mount/io/read_target.h"

namespace h5mount::test {

class HalfSource final : public io::ByteSource {
 public:
  Status read_at(std::uint64_t offset, MutableByteSpan out) const override {
    return io::fill_whole(offset, out, [](io::ReadTarget& to) -> Status {
      const std::string half(to.left() / 2, 'x');
      to.copy(as_bytes(half));
      return {};
    });
  }
  std::uint64_t size() const override { return 1000; }
  std::string name() const override { return "half"; }
};

}  // namespace h5mount::test
