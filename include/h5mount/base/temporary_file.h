// TemporaryFile: an unlinked file on disk, which vanishes with its descriptor, however the program ends.
// Threads: any, each with its own range of bytes.
#pragma once

#include <cstdint>

#include "h5mount/base/bytes.h"
#include "h5mount/base/error.h"
#include "h5mount/base/unique_fd.h"

namespace h5mount {

class TemporaryFile {
 public:
  TemporaryFile() = default;  // none
  static Result<TemporaryFile> make();
  // The directory where it is made: $TMPDIR, else /var/tmp, which is on disk while /tmp may be in memory.
  static const char* directory();

  explicit operator bool() const { return static_cast<bool>(fd_); }
  void reset() { fd_.reset(); }

  Status write_at(ByteSpan bytes, std::uint64_t offset) const;
  Status read_at(MutableByteSpan bytes, std::uint64_t offset) const;  // all of them, or Io
  std::uint64_t free_bytes() const;                                   // of its file system; 0: not known

 private:
  explicit TemporaryFile(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace h5mount
