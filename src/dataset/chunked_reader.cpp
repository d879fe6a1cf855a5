#include "chunked_reader.h"

#include <algorithm>
#include <unordered_map>

#include "h5mount/base/log.h"

namespace h5mount {
namespace {

// Kinds of blocks under one owner in the cache.
constexpr std::uint64_t kChunk = 0, kSlab = 1, kSmallSlab = 2, kStrip = 3;

constexpr std::uint64_t kTinyChunk = 4U << 10;       // below it a cache entry a chunk costs more than decoding
constexpr std::uint64_t kSmallSlabBytes = 32U << 10;
constexpr std::uint64_t kLargeChunk = 256U << 10;    // chunks in image order of this size need no slabs
constexpr std::uint64_t kDirectRun = 1U << 10;       // stretches worth a reply segment of their own
constexpr std::uint64_t kDirectRunInOrder = 16U << 10;
constexpr std::uint64_t kLeastSlab = 256U << 10, kMostSlab = 2U << 20;
constexpr std::uint64_t kAheadBytes = 16U << 20;
constexpr std::uint64_t kMostAhead = 16;
constexpr std::uint64_t kPartialVisits = 3;  // of one chunk, before it is decoded whole
constexpr std::size_t kMostDamaged = 4096;  // slabs remembered as damaged

}  // namespace

Result<std::shared_ptr<const DatasetReader>> ChunkedReader::open(const ReadEnvironment& environment,
                                                                 OpenedFilePtr file, DatasetDescription description,
                                                                 const ChunkedReader* previous) {
  const bool filtered = !description.pipeline.filters.empty();
  H5_ASSIGN(auto geometry, ChunkGeometry::make(description.space, description.layout, filtered));
  std::unique_ptr<GrowthState> growth;
  if (file->metadata->following()) {
    const bool goes_on = previous != nullptr && previous->growth_ && description.layout.chunk_dims == previous->description().layout.chunk_dims;
    growth = std::make_unique<GrowthState>(environment.cache, goes_on ? previous->growth_->growth() : nullptr);
  }
  H5_ASSIGN(auto store, ChunkStore::open(std::move(file), description, std::move(geometry)));
  return std::shared_ptr<const DatasetReader>(
      new ChunkedReader(environment, std::move(description), std::move(store), std::move(growth)));
}

ChunkedReader::ChunkedReader(const ReadEnvironment& environment, DatasetDescription description,
                             std::unique_ptr<ChunkStore> store, std::unique_ptr<GrowthState> growth)
    : DatasetReader(std::move(description)),
      cache_(environment.cache),
      workers_(environment.workers),
      store_(std::move(store)),
      plan_(store_->plan()),
      growth_(std::move(growth)),
      owner_(growth_ ? growth_->shared_owner() : BlockCache::new_owner()) {
  const std::uint64_t target = std::clamp<std::uint64_t>(cache_->budget() / 64, kLeastSlab, kMostSlab);
  const std::uint64_t band = plan_.full_band_bytes();
  slab_bands_ = std::max<std::uint64_t>(1, target / band);
  small_slab_bands_ = std::max<std::uint64_t>(1, kSmallSlabBytes / band);
  if (band > cache_->budget() / 4 * 3) scratch_ = std::make_unique<BandScratch>(*store_);
}

ChunkedReader::~ChunkedReader() {
  if (!growth_) cache_->erase_owner(owner_);
}

ChunkedReader::Way ChunkedReader::way_for(bool sequential, std::uint64_t length) const {
  const std::uint64_t band = plan_.full_band_bytes();
  if (!store_->filtered() && plan_.run_bytes() >= kDirectRun) {
    // In order, a copy that all workers share costs less than a reply of a thousand pieces.
    const bool slabs = sequential && !plan_.linear() && plan_.run_bytes() < kDirectRunInOrder;
    return slabs && band <= cache_->budget() / 4 ? Way::Slabs : Way::Direct;
  }
  // A whole row needs every chunk of its band: to decode them into place costs no more, and once is enough even where
  // the cache cannot hold them.
  if (!plan_.linear() && length >= plan_.row_bytes() && !store_->may_decode_partially()) sequential = true;
  // A chunk that the cache cannot keep would be decoded for every request, in whatever order they come.
  if (scratch_ && plan_.chunk_bytes() > cache_->budget() / 2) return Way::Strips;
  if (plan_.linear()) {
    if (plan_.chunk_bytes() >= kLargeChunk) return Way::Chunks;
    if (sequential) return Way::Slabs;
    return plan_.chunk_bytes() < kTinyChunk ? Way::SmallSlabs : Way::Chunks;
  }
  if (sequential && scratch_) return Way::Strips;
  if (sequential && band <= cache_->budget() / 4) return Way::Slabs;
  if (plan_.chunk_bytes() < kTinyChunk && band <= kMostSlab) return Way::SmallSlabs;
  return Way::Chunks;
}

Status ChunkedReader::read(std::uint64_t offset, std::uint64_t length, ReadPattern* pattern, Pieces& out) const {
  if (offset >= size()) return {};
  length = std::min(length, size() - offset);
  if (length == 0) return {};
  if (store_->unallocated()) {
    if (growth_) growth_->note_shown({offset, offset + length});
    store_->fill().append(offset, length, out);
    return {};
  }
  Way way = way_for(pattern != nullptr && pattern->note(offset, length), length);
  // The last slab of a growing dataset is made anew in every state: who follows its end wants the new chunks only.
  if (growth_ && way == Way::Slabs && plan_.band_at(offset) / slab_bands_ == (plan_.band_count() - 1) / slab_bands_)
    way = plan_.chunk_bytes() < kTinyChunk ? Way::SmallSlabs : Way::Chunks;
  H5_TRY(read_way(way, offset, length, pattern, out));
  return {};
}

Status ChunkedReader::read_way(Way way, std::uint64_t offset, std::uint64_t length, ReadPattern* pattern,
                               Pieces& out) const {
  Pieces pieces;
  Status done;
  switch (way) {
    case Way::Direct: return read_direct(offset, length, out);
    case Way::Chunks: done = read_chunks(offset, length, pieces); break;
    case Way::Slabs: done = read_slabs(slab_bands_, kSlab, offset, length, pieces); break;
    case Way::SmallSlabs: done = read_slabs(small_slab_bands_, kSmallSlab, offset, length, pieces); break;
    case Way::Strips: done = read_strips(offset, length, pieces); break;
  }
  if (!done && way != Way::Chunks) {
    pieces = Pieces();
    done = read_chunks(offset, length, pieces);
  }
  H5_TRY(std::move(done));
  for (const Piece& piece : pieces.list()) out.add(piece.bytes, piece.owner, piece.kernel_only);
  // Only after this reader's own need: read-ahead must not delay it.
  if (pattern != nullptr && pattern->forward()) {
    drop_behind(way, offset, *pattern);
    read_ahead(way, offset + length, *pattern);
  }
  return {};
}

Status ChunkedReader::read_into(std::uint64_t offset, MutableByteSpan out) const {
  if (!range_within(offset, out.size(), size()))
    return fail(Error(ErrorCode::OutOfRange, "Dataset", "image", offset).with_found(out.size()));
  if (store_->unallocated()) {
    if (growth_) growth_->note_shown({offset, offset + out.size()});
    store_->fill().write(offset, out);
    return {};
  }
  Pieces pieces;
  const Way way = way_for(false, out.size());
  H5_TRY(read_way(way == Way::Direct ? Way::Chunks : way, offset, out.size(), nullptr, pieces));
  std::size_t at = 0;
  for (const Piece& piece : pieces.list()) {
    std::memcpy(out.data() + at, piece.bytes.data(), piece.bytes.size());
    at += piece.bytes.size();
  }
  return {};
}

// ---- direct ----------------------------------------------------------------------------------------------------

Status ChunkedReader::read_direct(std::uint64_t offset, std::uint64_t length, Pieces& out) const {
  std::unordered_map<std::uint64_t, ChunkRecord> records;
  Status status;
  std::uint64_t image = offset;
  plan_.for_each_stretch(offset, length, [&](std::uint64_t chunk, std::uint64_t at, std::uint64_t bytes) {
    auto found = records.find(chunk);
    if (found == records.end()) {
      auto record = store_->find(chunk);
      if (!record) return status = fail(std::move(record).error()), false;
      found = records.emplace(chunk, std::move(*record)).first;
    }
    const ChunkRecord& record = found->second;
    if (growth_) (void)owner_of_chunk(chunk);
    if (!record.allocated()) {
      store_->fill().append(image, bytes, out);
    } else if (const ByteSpan mapped = store_->source().mapped(record.address + at, bytes); !mapped.empty()) {
      out.add(mapped, nullptr, true);
    } else {
      auto block = std::make_shared<Block>(bytes);
      if (Status read = store_->source().read_at(record.address + at, block->bytes()); !read)
        return status = fail(store_->located(read.error(), chunk, &record)), false;
      out.add(block->bytes(), block);
    }
    image += bytes;
    return true;
  });
  return status;
}

// ---- chunks ----------------------------------------------------------------------------------------------------

Result<BlockPtr> ChunkedReader::chunk_block(std::uint64_t chunk) const {
  return cache_->get_or_load({owner_of_chunk(chunk), kChunk, chunk}, static_cast<std::size_t>(plan_.chunk_bytes()),
                             [&](Block& block) -> Status {
                               H5_ASSIGN(const ChunkRecord record, store_->find(chunk));
                               ScratchPool::Lease scratch(ScratchPool::shared());
                               return store_->decode(chunk, record, block.bytes(), *scratch);
                             });
}

// A chunk of blocks is decoded in parts the first times it is touched: whoever wants one row pays for one row. Coming
// back, its reader pays once for the whole.
bool ChunkedReader::partly(std::uint64_t chunk) const {
  if (!store_->may_decode_partially()) return false;
  auto& slot = visits_[chunk % visits_.size()];
  const std::uint64_t tag = chunk / visits_.size() << 8 & ~std::uint64_t{0xFF};
  std::uint64_t now = slot.load(std::memory_order_relaxed);
  if ((now & ~std::uint64_t{0xFF}) != tag) now = tag;
  const bool often = (now & 0xFF) >= kPartialVisits;
  if (!often) slot.store(now + 1, std::memory_order_relaxed);
  return !often;
}

// A part without a block: nothing is allocated, and fill pages do. Small chunks are not worth the look.
Result<ChunkStore::Part> ChunkedReader::chunk_part(const Touched& touched) const {
  constexpr std::uint64_t kWorthALook = 1U << 20;
  if (plan_.chunk_bytes() >= kWorthALook &&
      !cache_->contains_or_pending({owner_of_chunk(touched.chunk), kChunk, touched.chunk})) {
    H5_ASSIGN(const ChunkRecord record, store_->find(touched.chunk));
    if (!record.allocated()) return ChunkStore::Part{};
  }
  if (!cache_->contains_or_pending({owner_of_chunk(touched.chunk), kChunk, touched.chunk}) && partly(touched.chunk)) {
    H5_ASSIGN(const ChunkRecord record, store_->find(touched.chunk));
    ScratchPool::Lease scratch(ScratchPool::shared());
    H5_ASSIGN(auto part, store_->decode_part(touched.chunk, record, touched.begin, touched.end, *scratch));
    if (part.block) return part;
  }
  H5_ASSIGN(auto block, chunk_block(touched.chunk));
  return ChunkStore::Part{std::move(block), 0};
}

Status ChunkedReader::read_chunks(std::uint64_t offset, std::uint64_t length, Pieces& out) const {
  struct Stretch {
    std::size_t slot;
    std::uint64_t at, bytes;
  };
  std::vector<Stretch> stretches;
  std::unordered_map<std::uint64_t, std::size_t> slots;
  std::vector<Touched> chunks;
  plan_.for_each_stretch(offset, length, [&](std::uint64_t chunk, std::uint64_t at, std::uint64_t bytes) {
    const auto [slot, fresh] = slots.try_emplace(chunk, chunks.size());
    if (fresh) chunks.push_back({chunk, at, at + bytes});
    Touched& touched = chunks[slot->second];
    touched.begin = std::min(touched.begin, at);
    touched.end = std::max(touched.end, at + bytes);
    stretches.push_back({slot->second, at, bytes});
    return true;
  });
  std::vector<Result<ChunkStore::Part>> parts(chunks.size(), Result<ChunkStore::Part>());
  if (chunks.size() == 1)
    parts[0] = chunk_part(chunks[0]);
  else
    workers_->for_each_index(chunks.size(), [&](std::size_t i) { parts[i] = chunk_part(chunks[i]); });
  for (const auto& part : parts)
    if (!part) return fail(part.error());
  for (const Stretch& s : stretches) {
    const ChunkStore::Part& part = *parts[s.slot];
    const auto at = static_cast<std::size_t>(s.at - part.begin);
    if (part.block)
      out.add(part.block->bytes().subspan(at, static_cast<std::size_t>(s.bytes)), part.block);
    else
      store_->fill().append(offset, s.bytes, out);
    offset += s.bytes;
  }
  return {};
}

// ---- slabs -----------------------------------------------------------------------------------------------------

Status ChunkedReader::read_slabs(std::uint64_t bands_per_slab, std::uint64_t kind, std::uint64_t offset,
                                 std::uint64_t length, Pieces& out) const {
  while (length > 0) {
    const std::uint64_t slab = plan_.band_at(offset) / bands_per_slab;
    const std::uint64_t start = plan_.band_offset(slab * bands_per_slab);
    auto block = slab_block(bands_per_slab, kind, slab);
    if (!block) return fail(std::move(block).error());
    const auto at = static_cast<std::size_t>(offset - start);
    const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(length, (*block)->size() - at));
    out.add((*block)->bytes().subspan(at, n), *block);
    offset += n;
    length -= n;
  }
  return {};
}

Result<BlockPtr> ChunkedReader::slab_block(std::uint64_t bands_per_slab, std::uint64_t kind,
                                           std::uint64_t slab) const {
  const std::uint64_t first = slab * bands_per_slab;
  const std::uint64_t last = std::min(first + bands_per_slab, plan_.band_count());
  const auto bytes = static_cast<std::size_t>(plan_.band_offset(last) - plan_.band_offset(first));
  {
    const std::lock_guard lock(damaged_mutex_);
    if (damaged_slabs_.contains(first)) return fail(Error(ErrorCode::FilterFailed, "a chunk of the slab is damaged"));
  }
  return cache_->get_or_load({owner_of_bands(kind, slab, first, last), kind, slab}, bytes, [&](Block& block) -> Status {
    Status made = make_slab(first, last, block.bytes());
    if (!made) {
      const std::lock_guard lock(damaged_mutex_);
      if (damaged_slabs_.size() < kMostDamaged) damaged_slabs_.insert(first);
    } else {
      read_counters().bands_made.fetch_add(last - first, std::memory_order_relaxed);
    }
    return made;
  });
}

Status ChunkedReader::make_slab(std::uint64_t first_band, std::uint64_t last_band, MutableByteSpan out) const {
  const std::uint64_t first_chunk = first_band * plan_.chunks_per_band();
  const std::uint64_t count = (last_band - first_band) * plan_.chunks_per_band();
  const std::uint64_t slab_offset = plan_.band_offset(first_band);
  // Parts large enough that starting one costs nothing beside it, small enough that all workers have some.
  const std::uint64_t by_bytes = std::max<std::uint64_t>(1, (256U << 10) / plan_.chunk_bytes());
  const std::uint64_t by_threads = divide_up(count, std::uint64_t{2} * (workers_->threads() + 1));
  const std::uint64_t part = std::min(count, std::clamp<std::uint64_t>(by_threads, 1, std::max<std::uint64_t>(by_bytes, 1)));
  const auto parts = static_cast<std::size_t>(divide_up(count, part));
  std::mutex mutex;
  Status first_failure;
  std::atomic<bool> failed{false};
  workers_->for_each_index(parts, [&](std::size_t i) {
    if (failed.load(std::memory_order_relaxed)) return;
    const std::uint64_t begin = i * part;
    Status made = make_slab_part(first_chunk + begin, std::min(part, count - begin), slab_offset, out);
    if (made) return;
    const std::lock_guard lock(mutex);
    if (!failed.exchange(true)) first_failure = std::move(made);
  });
  return first_failure;
}

Status ChunkedReader::make_slab_part(std::uint64_t first_chunk, std::uint64_t count, std::uint64_t slab_offset,
                                     MutableByteSpan out) const {
  std::vector<ChunkRecord> records(static_cast<std::size_t>(count));
  H5_TRY(store_->find_run(first_chunk, records));
  ScratchPool::Lease scratch(ScratchPool::shared());
  const auto chunk_bytes = static_cast<std::size_t>(plan_.chunk_bytes());
  const auto band_of = [&](std::uint64_t chunk) {
    const std::uint64_t band = chunk / plan_.chunks_per_band();
    return out.subspan(static_cast<std::size_t>(plan_.band_offset(band) - slab_offset),
                       static_cast<std::size_t>(plan_.band_bytes(band)));
  };
  // What a random reader has decoded already is only copied.
  std::vector<BlockPtr> cached;
  if (chunk_bytes >= kTinyChunk) {
    cached.resize(records.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
      cached[i] = cache_->peek({owner_, kChunk, first_chunk + i});
      if (cached[i]) records[i].address = kUndefinedAddress;
    }
  }
  return store_->decode_run(
      first_chunk, records, *scratch,
      [&](std::size_t i) -> MutableByteSpan {
        const MutableByteSpan band = band_of(first_chunk + i);
        return plan_.linear() && band.size() == chunk_bytes ? band : MutableByteSpan();
      },
      [&](std::size_t i, ByteSpan decoded) {
        const MutableByteSpan band = band_of(first_chunk + i);
        if (!cached.empty() && cached[i]) decoded = cached[i]->bytes();
        if (decoded.data() != band.data()) place(first_chunk + i, decoded, band);
      });
}

void ChunkedReader::place(std::uint64_t chunk, ByteSpan decoded, MutableByteSpan band) const {
  const ChunkPlan::Rows all{0, plan_.band_rows(chunk / plan_.chunks_per_band())};
  plan_.for_each_run(chunk, all, [&](std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
    const MutableByteSpan run = band.subspan(static_cast<std::size_t>(to), static_cast<std::size_t>(bytes));
    if (decoded.empty())
      store_->fill().write(0, run);
    else
      std::memcpy(run.data(), decoded.data() + from, run.size());
  });
}

// ---- strips ----------------------------------------------------------------------------------------------------

Status ChunkedReader::read_strips(std::uint64_t offset, std::uint64_t length, Pieces& out) const {
  const std::uint64_t owner = growth_ ? growth_->own_owner() : owner_;
  if (growth_) {
    for (std::uint64_t band = plan_.band_at(offset); band <= plan_.band_at(offset + length - 1); ++band)
      (void)owner_of_bands(kStrip, band, band, band + 1);
  }
  while (length > 0) {
    H5_ASSIGN(const BandScratch::Strip strip, scratch_->strip_at(offset, *cache_, owner, kStrip, *workers_));
    const auto at = static_cast<std::size_t>(offset - strip.offset);
    const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(length, strip.block->size() - at));
    out.add(strip.block->bytes().subspan(at, n), strip.block);
    offset += n;
    length -= n;
  }
  return {};
}

// ---- growth ----------------------------------------------------------------------------------------------------

std::uint64_t ChunkedReader::owner_of_chunk(std::uint64_t chunk) const {
  if (!growth_) return owner_;
  const std::uint64_t band = chunk / plan_.chunks_per_band();
  return growth_->owner_of(kChunk, chunk, {plan_.band_offset(band), plan_.band_offset(band + 1)},
                           [&] { return settled(chunk, 1, band + 1); });
}

std::uint64_t ChunkedReader::owner_of_bands(std::uint64_t kind, std::uint64_t index, std::uint64_t first,
                                            std::uint64_t last) const {
  if (!growth_) return owner_;
  const std::uint64_t chunks = plan_.chunks_per_band();
  return growth_->owner_of(kind, index, {plan_.band_offset(first), plan_.band_offset(last)},
                           [&] { return settled(first * chunks, (last - first) * chunks, last); });
}

bool ChunkedReader::settled(std::uint64_t first_chunk, std::uint64_t count, std::uint64_t next_band) const {
  if (next_band >= plan_.band_count()) return false;
  const auto behind = store_->find(next_band * plan_.chunks_per_band());
  if (!behind || !behind->allocated()) return false;
  std::vector<ChunkRecord> records(static_cast<std::size_t>(count));
  if (!store_->find_run(first_chunk, records)) return false;
  return std::ranges::all_of(records, &ChunkRecord::allocated);
}

std::vector<ByteRange> ChunkedReader::outdated_ranges() const {
  return growth_ ? growth_->take_outdated() : std::vector<ByteRange>();
}

// ---- ahead -----------------------------------------------------------------------------------------------------

// What a reader in order has gone through the kernel has pages of. Given back at once, its memory is there for what
// comes next: a scan keeps to a few slabs that stay in the processor's cache, and others' blocks stay in ours.
void ChunkedReader::drop_behind(Way way, std::uint64_t offset, ReadPattern& pattern) const {
  if (way != Way::Slabs || growth_ || offset < 2 * ReadPattern::kReorder) return;
  const auto [first, last] = pattern.claim_behind(plan_.band_at(offset - 2 * ReadPattern::kReorder) / slab_bands_);
  for (std::uint64_t slab = first; slab < last; ++slab) cache_->erase({owner_, kSlab, slab});
}

void ChunkedReader::read_ahead(Way way, std::uint64_t end_offset, ReadPattern& pattern) const {
  if ((way != Way::Slabs && way != Way::Chunks) || end_offset >= size()) return;
  if (way == Way::Chunks && !plan_.linear()) return;
  const bool slabs = way == Way::Slabs;
  const std::uint64_t per_unit = slabs ? slab_bands_ : 1;
  const std::uint64_t unit_bytes = std::max<std::uint64_t>(1, per_unit * plan_.full_band_bytes());
  const std::uint64_t allowed = std::min<std::uint64_t>(kAheadBytes, cache_->budget() / 4);
  const std::uint64_t depth = std::clamp<std::uint64_t>(allowed / unit_bytes, 1, kMostAhead);
  const std::uint64_t units = divide_up(plan_.band_count(), per_unit);
  const std::uint64_t current = plan_.band_at(end_offset - 1) / per_unit;
  if (unit_bytes > cache_->budget() / 3 || current + 1 >= units) return;
  const auto [first, last] = pattern.claim_ahead(current, std::min(current + depth, units - 1));
  for (std::uint64_t unit = first; unit < last; ++unit) {
    const std::uint64_t last_band = std::min((unit + 1) * per_unit, plan_.band_count());
    const std::uint64_t owner = slabs ? owner_of_bands(kSlab, unit, unit * per_unit, last_band) : owner_of_chunk(unit);
    const BlockKey key{owner, slabs ? kSlab : kChunk, unit};
    if (cache_->contains_or_pending(key)) continue;
    // A job that comes too late would make again what was read and dropped meanwhile.
    workers_->submit([self = shared_from_this(), reader_at = pattern.position(), end = plan_.band_offset(last_band),
                      slabs, unit, key] {
      if (*reader_at >= end || self->cache_->contains_or_pending(key)) return;
      read_counters().bands_ahead.fetch_add(1, std::memory_order_relaxed);
      // A failure is told to whoever asks for these bytes.
      if (slabs) (void)self->slab_block(self->slab_bands_, kSlab, unit);
      else (void)self->chunk_block(unit);
    });
  }
}

// ---- what is allocated -----------------------------------------------------------------------------------------

Result<std::shared_ptr<const AllocationMap>> ChunkedReader::allocation() const {
  {
    const std::lock_guard lock(allocation_mutex_);
    if (allocation_) return allocation_;
  }
  H5_ASSIGN(auto map, AllocationMap::make(plan_, store_->index()));
  auto shared = std::make_shared<const AllocationMap>(std::move(map));
  const std::lock_guard lock(allocation_mutex_);
  if (!allocation_) allocation_ = std::move(shared);
  return allocation_;
}

Result<std::uint64_t> ChunkedReader::storage_bytes() const {
  if (store_->unallocated()) return 0;
  H5_ASSIGN(const auto map, allocation());
  return map->stored_bytes;
}

std::optional<std::uint64_t> ChunkedReader::storage_bytes_known() const {
  if (store_->unallocated()) return 0;
  const std::lock_guard lock(allocation_mutex_);
  if (allocation_) return allocation_->stored_bytes;
  return std::nullopt;
}

Result<std::uint64_t> ChunkedReader::find_data(std::uint64_t offset) const {
  if (offset < size() && !store_->fill().is_zero()) return offset;
  if (offset >= size() || store_->unallocated()) return fail(Error(ErrorCode::NotFound, "no data after this offset"));
  H5_ASSIGN(const auto map, allocation());
  return map->find_data(plan_, offset);
}

Result<std::uint64_t> ChunkedReader::find_hole(std::uint64_t offset) const {
  if (offset >= size()) return fail(Error(ErrorCode::NotFound, "offset beyond the end"));
  if (!store_->fill().is_zero()) return size();
  if (store_->unallocated()) return offset;
  H5_ASSIGN(const auto map, allocation());
  return map->find_hole(plan_, offset);
}

}  // namespace h5mount
