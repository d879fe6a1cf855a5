// Spool: a text that may be longer than memory should hold: its beginning, or its newest part, is in memory
// and the rest in an unlinked file on disk. It takes at most half of the free space there. Threads: one.
#pragma once

#include <string>
#include <string_view>

#include "h5mount/base/temporary_file.h"

namespace h5mount::tree {

class Spool {
 public:
  Status append(std::string_view bytes);

  std::uint64_t size() const { return on_disk_ + tail_.size(); }
  void clear() { on_disk_ = 0, tail_.clear(); }

  // Appends the bytes [offset, offset + length), cut at the end and at a few MiB.
  Status read(std::uint64_t offset, std::uint64_t length, std::string& out) const;

 private:
  static constexpr std::size_t kTailBytes = 256U << 10;

  Status write_tail();

  TemporaryFile file_;
  std::uint64_t on_disk_ = 0;  // the bytes of the text that are in the file
  std::uint64_t allowed_ = 0;  // bytes that the file may have before the free space is looked at again
  std::string tail_;
};

}  // namespace h5mount::tree
