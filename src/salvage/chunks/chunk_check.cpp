// Finds chunks that cannot be decoded. Only decoding tells: with Options::fill each stored chunk is decoded
// once.
#include <algorithm>
#include <atomic>

#include "chunks.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/thread.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/metadata/filter_pipeline.h"

namespace h5mount::salvage {
namespace {

constexpr std::uint64_t kMaxChecked = 256U << 20;  // larger chunks are not decoded

// The number of bytes from the chunk's first to its last one that lies within the dataset: a writer may
// leave out the rest.
std::uint64_t needed_bytes(const chunk::ChunkGeometry& geometry, std::uint64_t number) {
  const std::vector<std::uint64_t> offsets = offsets_of(geometry, number);
  std::uint64_t last = 0;
  for (std::size_t d = 0; d < offsets.size(); ++d)
    last =
        last * geometry.chunk_dims[d] + std::min(geometry.dims[d] - offsets[d], geometry.chunk_dims[d]) - 1;
  return (last + 1) * geometry.element_size;
}

class ChunkCheck {
 public:
  ChunkCheck(SalvageState& state, const OpenedDataset& dataset, const filter::FilterPipeline& pipeline,
             std::span<const PlacedChunk> chunks)
      : state_(state), dataset_(dataset), pipeline_(pipeline), chunks_(chunks) {}

  std::vector<std::uint64_t> run() {
    const std::uint64_t bytes = dataset_.geometry.chunk_bytes;
    const std::uint64_t each = 2 * bytes + pipeline_.scratch_bytes(bytes);
    const auto most = std::min<std::uint64_t>(
        {state_.options.threads, limits::kMaxDecodeAboveCache / each, chunks_.size()});
    run_together("h5-sweep", static_cast<std::size_t>(most), [this] { work(); });
    const MutexLock lock(mutex_);
    std::ranges::sort(damaged_);
    return std::move(damaged_);
  }

 private:
  void work() {
    std::vector<std::byte> stored, decoded(static_cast<std::size_t>(dataset_.geometry.chunk_bytes));
    filter::FilterScratch scratch;
    for (std::size_t i = next_++; i < chunks_.size(); i = next_++) {
      const bool damaged = is_damaged(chunks_[i], stored, decoded, scratch);
      const MutexLock lock(mutex_);
      if (damaged) damaged_.push_back(chunks_[i].number);
      if (!state_.go_on()) next_ = chunks_.size();
    }
  }

  bool is_damaged(const PlacedChunk& chunk, std::vector<std::byte>& stored, MutableByteSpan decoded,
                  filter::FilterScratch& scratch) const {
    const chunk::ChunkRecord& record = chunk.record;
    const chunk::ChunkGeometry& geometry = dataset_.geometry;
    if (is_stored_plain(dataset_, chunk)) return record.stored_size != geometry.chunk_bytes;
    if (pipeline_.missing(record.filter_mask)) return false;  // nothing tells
    if (!may_be_chunk(state_, geometry, record.address, record.stored_size)) return false;
    if (state_.unreadable.touches(record.address, record.address + record.stored_size)) return false;
    stored.resize(static_cast<std::size_t>(record.stored_size));
    if (!state_.made->read_at(record.address, stored)) return false;
    const auto given = pipeline_.decode_up_to(stored, record.filter_mask, decoded, scratch);
    return given ? *given < needed_bytes(geometry, chunk.number) : is_about_bytes(given.error().code());
  }

  SalvageState& state_;
  const OpenedDataset& dataset_;
  const filter::FilterPipeline& pipeline_;
  const std::span<const PlacedChunk> chunks_;
  std::atomic<std::size_t> next_ = 0;
  Mutex mutex_;
  std::vector<std::uint64_t> damaged_ H5_GUARDED_BY(mutex_);  // numbers
};

}  // namespace

std::vector<std::uint64_t> damaged_chunks(SalvageState& state, const OpenedDataset& dataset,
                                          std::span<const PlacedChunk> chunks) {
  if (!dataset.geometry.filtered || dataset.geometry.chunk_bytes > kMaxChecked) return {};
  const auto pipeline =
      metadata::make_filter_pipeline(dataset.description.pipeline.filters, dataset.geometry.chunk_bytes);
  if (!pipeline) return {};
  const std::uint64_t most = state.decoded_left / std::max<std::uint64_t>(dataset.geometry.chunk_bytes, 1);
  if (chunks.size() > most) chunks = chunks.first(static_cast<std::size_t>(most));
  state.decoded_left -= chunks.size() * dataset.geometry.chunk_bytes;
  if (chunks.empty()) return {};
  return ChunkCheck(state, dataset, **pipeline, chunks).run();
}

}  // namespace h5mount::salvage
