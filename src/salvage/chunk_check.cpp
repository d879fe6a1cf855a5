// Finds chunks that cannot be decoded. Only decoding tells: with Options::fill each stored chunk is decoded
// once. A writer that was killed may have written a chunk anew, longer or shorter, and not the index with its
// size: the chunk's own form tells where it ends.
#include <algorithm>
#include <atomic>

#include "h5mount/base/limits.h"
#include "h5mount/base/thread.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/metadata/filter_pipeline.h"
#include "rescue.h"

namespace h5mount::salvage {
namespace {

constexpr std::uint64_t kMaxChecked = 256U << 20;  // larger chunks are not decoded

// The number of bytes from the chunk's first to its last one that lies within the dataset: a writer may
// leave out the rest.
std::uint64_t needed_bytes(const chunk::ChunkGeometry& geometry, std::span<const std::uint64_t> offsets) {
  std::uint64_t last = 0;
  for (std::size_t d = 0; d < offsets.size(); ++d)
    last =
        last * geometry.chunk_dims[d] + std::min(geometry.dims[d] - offsets[d], geometry.chunk_dims[d]) - 1;
  return (last + 1) * geometry.element_size;
}

class ChunkCheck {
 public:
  ChunkCheck(Rescue& rescue, const DatasetTrouble& trouble, const chunk::ChunkGeometry& geometry,
             const filter::FilterPipeline& pipeline, std::span<const PlacedChunk> chunks)
      : rescue_(rescue),
        trouble_(trouble),
        geometry_(geometry),
        pipeline_(pipeline),
        filters_(trouble.description.pipeline.filters),
        partial_plain_(trouble.description.layout.partial_chunks_unfiltered),
        chunks_(chunks) {}

  std::vector<DamagedChunk> run() {
    const std::uint64_t each = 2 * geometry_.chunk_bytes + pipeline_.scratch_bytes(geometry_.chunk_bytes);
    const auto most = std::min<std::uint64_t>(
        {rescue_.options.threads, limits::kMaxDecodeAboveCache / each, chunks_.size()});
    run_together("h5-sweep", static_cast<std::size_t>(most), [this] { work(); });
    const MutexLock lock(mutex_);
    std::ranges::sort(damaged_, {}, &DamagedChunk::number);
    return std::move(damaged_);
  }

 private:
  void work() {
    std::vector<std::byte> stored, decoded(static_cast<std::size_t>(geometry_.chunk_bytes));
    filter::FilterScratch scratch;
    for (std::size_t i = next_++; i < chunks_.size(); i = next_++) {
      const bool damaged = is_damaged(chunks_[i], stored, decoded, scratch);
      const std::uint64_t size = damaged ? other_size(chunks_[i], stored, decoded, scratch) : 0;
      const MutexLock lock(mutex_);
      if (damaged) damaged_.push_back({chunks_[i].number, size});
      if (!rescue_.go_on()) next_ = chunks_.size();
    }
  }

  bool is_damaged(const PlacedChunk& chunk, std::vector<std::byte>& stored, MutableByteSpan decoded,
                  filter::FilterScratch& scratch) const {
    const chunk::ChunkRecord& record = chunk.record;
    const std::vector<std::uint64_t> offsets = offsets_of(geometry_, chunk.number);
    if (is_stored_plain(trouble_, geometry_, chunk)) return record.stored_size != geometry_.chunk_bytes;
    if (pipeline_.missing(record.filter_mask)) return false;  // nothing tells
    if (!may_be_chunk(rescue_, geometry_, record.address, record.stored_size)) return false;
    if (rescue_.unreadable.touches(record.address, record.address + record.stored_size)) return false;
    stored.resize(static_cast<std::size_t>(record.stored_size));
    if (!rescue_.made->read_at(record.address, stored)) return false;
    const auto given = pipeline_.decode_up_to(stored, record.filter_mask, decoded, scratch);
    return given ? *given < needed_bytes(geometry_, offsets) : is_about_bytes(given.error().code());
  }

  // The size with which the chunk can be decoded, if its form tells one; else 0.
  std::uint64_t other_size(const PlacedChunk& chunk, std::vector<std::byte>& stored, MutableByteSpan decoded,
                           filter::FilterScratch& scratch) {
    const std::uint64_t address = chunk.record.address;
    if (address == 0 || address >= rescue_.end || chunk.record.filter_mask != 0) return 0;
    if (partial_plain_ && is_partial(geometry_, offsets_of(geometry_, chunk.number))) return 0;
    const std::uint64_t most = std::min(2 * geometry_.chunk_bytes + kLonger, rescue_.end - address);
    {
      const MutexLock lock(mutex_);
      if (!rescue_.spend(most / kBytesPerStep)) return 0;
    }
    stored.resize(static_cast<std::size_t>(most));
    if (!rescue_.made->read_at(address, stored)) return 0;
    return stored_bytes_of(filters_, pipeline_, stored, decoded, scratch);
  }

  static constexpr std::uint64_t kLonger = 4096, kBytesPerStep = 16;

  Rescue& rescue_;
  const DatasetTrouble& trouble_;
  const chunk::ChunkGeometry& geometry_;
  const filter::FilterPipeline& pipeline_;
  const std::span<const format::FilterDescription> filters_;
  const bool partial_plain_;
  const std::span<const PlacedChunk> chunks_;
  std::atomic<std::size_t> next_ = 0;
  Mutex mutex_;
  std::vector<DamagedChunk> damaged_ H5_GUARDED_BY(mutex_);
};

}  // namespace

std::vector<DamagedChunk> damaged_chunks(Rescue& rescue, const DatasetTrouble& trouble,
                                         const chunk::ChunkGeometry& geometry,
                                         std::span<const PlacedChunk> chunks) {
  if (!geometry.filtered || geometry.chunk_bytes > kMaxChecked) return {};
  const auto pipeline =
      metadata::make_filter_pipeline(trouble.description.pipeline.filters, geometry.chunk_bytes);
  if (!pipeline) return {};
  const std::uint64_t most = rescue.decoded_left / std::max<std::uint64_t>(geometry.chunk_bytes, 1);
  if (chunks.size() > most) chunks = chunks.first(static_cast<std::size_t>(most));
  rescue.decoded_left -= chunks.size() * geometry.chunk_bytes;
  if (chunks.empty()) return {};
  return ChunkCheck(rescue, trouble, geometry, **pipeline, chunks).run();
}

}  // namespace h5mount::salvage
