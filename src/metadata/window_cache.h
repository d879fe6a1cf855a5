// Reads of metadata in aligned windows: structures lie together, so one read loads the next ones too.
//
// A miss in a file whose space is paged asks for the whole page before the window: the structures beside are
// wanted soon. A read larger than a window bypasses the cache. If a window cannot be read whole (it contains
// a bad sector), the requested bytes are read alone. The source states how large a window is. All snapshots
// of a file share the cache; each finds only the windows that were read for it. Windows of far sources share
// their bound with everything else that is kept decoded of all files, those of local ones with each other
// (SharedCache::local_bytes_of). Threads: any; no lock is held while reading.
#pragma once

#include <memory>

#include "h5mount/base/shared_cache.h"
#include "h5mount/io/byte_source.h"
#include "h5mount/metadata/file_metadata.h"
#include "metadata_pages.h"

namespace h5mount::metadata {

class WindowCache {
 public:
  WindowCache(std::shared_ptr<io::ByteSource> source, const std::shared_ptr<SharedCache>& memory)
      : source_(std::move(source)),
        window_bytes_(source_->block_bytes()),
        windows_(source_->far() ? memory : SharedCache::local_bytes_of(memory)) {}

  // To be called before others read.
  void set_pages(const MetadataPages& pages) { pages_ = pages; }

  // `snapshot` is FileMetadata::number.
  Status read(std::uint64_t snapshot, std::uint64_t offset, MutableByteSpan out,
              Among among = Among::Structures);

 private:
  // The bytes are not initialised, as they are read into at once.
  class Window {
   public:
    explicit Window(std::size_t size)
        : data_(std::make_unique_for_overwrite<std::byte[]>(size)), size_(size) {}
    MutableByteSpan bytes() { return {data_.get(), size_}; }
    ByteSpan bytes() const { return {data_.get(), size_}; }
    std::size_t size() const { return size_; }

   private:
    std::unique_ptr<std::byte[]> data_;
    std::size_t size_;
  };
  // Copies the part of `out` that window `number` covers; returns false if the window ends before that part
  // does.
  bool copy_from(const Window& window, std::uint64_t number, std::uint64_t offset, MutableByteSpan out) const;
  void ask_for_page(std::uint64_t offset) const;
  Status fetch(std::uint64_t snapshot, std::uint64_t first, std::uint64_t last, std::uint64_t offset,
               MutableByteSpan out);

  const std::shared_ptr<io::ByteSource> source_;
  const std::size_t window_bytes_;
  MetadataPages pages_;
  CachePart<Window> windows_;
};

}  // namespace h5mount::metadata
