// A loaded metadata cache image, laid over the file. Immutable once loaded.
#pragma once

#include <cstdint>
#include <vector>

#include "h5mount/format/cache_image.h"
#include "h5mount/metadata/file_metadata.h"

namespace h5mount::metadata {

class ImageOverlay {
 public:
  static Result<ImageOverlay> load(const FileMetadata& file, const format::CacheImageMessage& message);

  bool empty() const { return entries_.empty(); }
  // Puts the image's bytes over those of [address, address + bytes.size()); true where it gave every one of
  // them.
  bool apply(std::uint64_t address, MutableByteSpan bytes) const;
  // The end of the run of entries that holds `address`; nothing where none does.
  std::uint64_t end_of_run(std::uint64_t address) const;

 private:
  std::vector<std::byte> block_;  // entries' spans point into it: moving keeps them, copying would not
  std::vector<format::CacheImageEntry> entries_;  // by address

 public:
  ImageOverlay() = default;
  ImageOverlay(ImageOverlay&&) = default;
  ImageOverlay& operator=(ImageOverlay&&) = default;
  ImageOverlay(const ImageOverlay&) = delete;
  ImageOverlay& operator=(const ImageOverlay&) = delete;
};

}  // namespace h5mount::metadata
