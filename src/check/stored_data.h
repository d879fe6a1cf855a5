// StoredData: where a file has bytes on its medium. The bytes between are zero, and need not be read: a
// sparse file can have any number of them.
#pragma once

#include "h5mount/base/unique_fd.h"
#include "h5mount/metadata/file_metadata.h"

namespace h5mount::check {

class StoredData {
 public:
  explicit StoredData(const metadata::FileMetadata& file);

  // The first address from `address` on that may have stored bytes; UINT64_MAX if there is none. Returns
  // `address` itself if that is not known, as for a set of files.
  std::uint64_t next(std::uint64_t address) const;

 private:
  UniqueFd fd_;
  const std::uint64_t base_address_;
};

}  // namespace h5mount::check
