// Reads of metadata in aligned windows: structures lie together, so one read loads the next ones too.
//
// A read larger than a window bypasses the cache. Where a window cannot be read whole (it contains a bad
// sector), the requested bytes are read alone. All snapshots of a file share the cache; each finds only the
// windows that were read for it. Threads: any; no lock is held while reading.
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "h5mount/io/byte_source.h"
#include "snapshot_cache.h"

namespace h5mount::metadata {

class WindowCache {
 public:
  static constexpr std::size_t kWindowBytes = 16U << 10;

  explicit WindowCache(std::shared_ptr<io::ByteSource> source) : source_(std::move(source)) {}

  // `snapshot`: FileMetadata::number.
  Status read(std::uint64_t snapshot, std::uint64_t offset, MutableByteSpan out);
  std::uint64_t source_reads() const { return source_reads_.load(std::memory_order_relaxed); }

 private:
  // Not initialised: it is read into at once.
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
  using Shard = SnapshotCache<Window>;
  static constexpr std::size_t kShards = 8;
  static constexpr std::size_t kShardBytes = 512U << 10;

  Shard& shard(std::uint64_t number) { return shards_[number % kShards]; }
  Status read_source(std::uint64_t offset, MutableByteSpan out);
  // Copies the part of `out` that window `number` covers; false where the window ends before that part does.
  static bool copy_from(const Window& window, std::uint64_t number, std::uint64_t offset,
                        MutableByteSpan out);
  Status fetch(std::uint64_t snapshot, std::uint64_t first, std::uint64_t last, std::uint64_t offset,
               MutableByteSpan out);

  const std::shared_ptr<io::ByteSource> source_;
  std::atomic<std::uint64_t> source_reads_ = 0;
  std::array<Shard, kShards> shards_{Shard{kShardBytes}, Shard{kShardBytes}, Shard{kShardBytes},
                                     Shard{kShardBytes}, Shard{kShardBytes}, Shard{kShardBytes},
                                     Shard{kShardBytes}, Shard{kShardBytes}};
};

}  // namespace h5mount::metadata
