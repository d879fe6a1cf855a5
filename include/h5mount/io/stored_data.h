// StoredData: where a local file has bytes on its medium. The bytes between are zeros, and need not be read:
// a sparse file can have any number of them. Threads: one at a time.
#pragma once

#include "h5mount/base/unique_fd.h"
#include "h5mount/io/byte_source.h"

namespace h5mount::io {

class StoredData {
 public:
  // Nothing is known of a source that is no single local file.
  explicit StoredData(ByteSource& source);

  // The first offset from `offset` on that may have stored bytes; UINT64_MAX if there is none. Returns
  // `offset` itself if that is not known.
  std::uint64_t next(std::uint64_t offset) const;
  // The first offset behind `offset` that has none; UINT64_MAX if that is not known.
  std::uint64_t end(std::uint64_t offset) const;

 private:
  UniqueFd fd_;
};

}  // namespace h5mount::io
