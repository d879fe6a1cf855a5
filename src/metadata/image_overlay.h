// A loaded metadata cache image, which replaces bytes of the file. Immutable once loaded.
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
  // Overwrites `bytes`, which were read at `address`, with those of the image; returns true if the image has
  // all of them.
  bool apply(std::uint64_t address, MutableByteSpan bytes) const;
  // The end of the run of adjacent entries that contains `address`; `address` itself if no entry does.
  std::uint64_t end_of_run(std::uint64_t address) const;

 private:
  // The entries' spans point into this block: moving preserves them, copying would not.
  std::vector<std::byte> block_;
  std::vector<format::CacheImageEntry> entries_;  // ordered by address

 public:
  ImageOverlay() = default;
  ImageOverlay(ImageOverlay&&) = default;
  ImageOverlay& operator=(ImageOverlay&&) = default;
  ImageOverlay(const ImageOverlay&) = delete;
  ImageOverlay& operator=(const ImageOverlay&) = delete;
};

}  // namespace h5mount::metadata
