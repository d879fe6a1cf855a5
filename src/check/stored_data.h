// StoredData: where a file has bytes on its medium. What lies between is zero without being read, and a
// sparse file can have any number of such bytes.
#pragma once

#include "h5mount/base/unique_fd.h"
#include "h5mount/metadata/file_metadata.h"

namespace h5mount::check {

class StoredData {
 public:
  explicit StoredData(const metadata::FileMetadata& file);

  // The first address from `address` on that may have stored bytes; UINT64_MAX: there is none. It is
  // `address` itself where that is not known, as of a set of files.
  std::uint64_t next(std::uint64_t address) const;

 private:
  UniqueFd fd_;
  const std::uint64_t base_address_;
};

}  // namespace h5mount::check
