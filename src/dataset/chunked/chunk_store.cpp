#include "chunk_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/momentary.h"
#include "h5mount/base/row_major.h"
#include "h5mount/base/structures.h"
#include "h5mount/metadata/filter_pipeline.h"

namespace h5mount::dataset {
namespace {

// The largest plausible stored size of a chunk: optional filters may enlarge it a little.
std::uint64_t stored_limit(std::uint64_t chunk_bytes) {
  return 2 * chunk_bytes + (1U << 20);
}

}  // namespace

ChunkStore::ChunkStore(const object::OpenedFilePtr& file, const object::DatasetDescription& description,
                       const chunk::ChunkGeometry& geometry)
    : source_(file->followed->source()),
      base_address_(file->followed->base_address()),
      plan_(geometry),
      fill_(description.fill, description.element_size),
      chunk_dims_(geometry.chunk_dims),
      dataset_address_(description.address),
      partial_unfiltered_(description.layout.partial_chunks_unfiltered),
      unallocated_(description.layout.address == format::kUndefinedAddress),
      filter_count_(description.pipeline.filters.size()) {}

Result<std::unique_ptr<ChunkStore>> ChunkStore::open(const object::OpenedFilePtr& file,
                                                     const object::DatasetDescription& description,
                                                     const chunk::ChunkGeometry& geometry,
                                                     std::size_t cache_bytes,
                                                     std::shared_ptr<Counters> counters) {
  std::unique_ptr<ChunkStore> store(new ChunkStore(file, description, geometry));
  store->cache_bytes_ = cache_bytes;
  store->counters_ = std::move(counters);
  H5_ASSIGN(store->pipeline_,
            metadata::make_filter_pipeline(description.pipeline.filters, geometry.chunk_bytes));
  store->scratch_bytes_ = store->pipeline_->scratch_bytes(geometry.chunk_bytes);
  H5_ASSIGN(store->index_, chunk::open_chunk_index(file->reread(), description.layout, geometry));
  return store;
}

Error ChunkStore::located(const Error& error, std::uint64_t chunk, const chunk::ChunkRecord* record) const {
  std::string place = plan_.place_of(chunk);
  if (record != nullptr && record->allocated())
    place += fmt::format(", {} bytes at {:#x}", record->stored_size, base_address_ + record->address);
  return error.within(fmt::format("{}, of dataset at {:#x}", place, dataset_address_));
}

std::optional<Error> ChunkStore::problem() const {
  if (!pipeline_->missing()) return std::nullopt;
  return needed_by_all(*index_,
                       [this](std::span<const std::uint64_t> scaled,
                              const chunk::ChunkRecord& record) -> std::optional<Error> {
                         if (stored_plain(row_major_number(scaled, plan_.index_grid()), record))
                           return std::nullopt;
                         return pipeline_->missing(record.filter_mask);
                       });
}

Result<chunk::ChunkRecord> ChunkStore::find(std::uint64_t chunk) const {
  std::uint64_t scaled[limits::kMaxRank];
  const std::span<std::uint64_t> at(scaled, plan_.index_rank());
  plan_.scaled_of(chunk, at);
  auto record = index_->find(at);
  if (!record) return fail(located(record.error(), chunk));
  return record;
}

Status ChunkStore::find_run(std::uint64_t first, std::span<chunk::ChunkRecord> out) const {
  std::uint64_t scaled[limits::kMaxRank];
  const std::span<std::uint64_t> at(scaled, plan_.index_rank());
  plan_.scaled_of(first, at);
  if (Status found = index_->find_run(at, out); !found) return fail(located(found.error(), first));
  return {};
}

std::uint64_t ChunkStore::will_read(std::span<const chunk::ChunkRecord> records) const {
  if (!far()) return 0;
  std::vector<ByteRange> ranges;
  std::uint64_t bytes = 0;
  for (const chunk::ChunkRecord& record : records) {
    if (!record.allocated() || !range_within(record.address, record.stored_size, source_->size())) continue;
    ranges.push_back({record.address, record.address + record.stored_size});
    bytes += record.stored_size;
  }
  if (!ranges.empty()) source_->will_read(ranges);
  return bytes;
}

// The nodes of the chunks that are told next are asked for beforehand, so that nobody waits for them then. An
// index that cannot be read is met by the read of the chunk.
std::uint64_t ChunkStore::will_read(std::uint64_t first, std::uint64_t count) const {
  if (!far() || first >= plan_.chunk_count()) return 0;
  constexpr std::uint64_t kFindAhead = 256;
  const std::uint64_t announced = std::min({count, plan_.chunk_count() - first, kMaxAnnounced});
  const chunk::ChunkIndex::Run run{first,
                                   std::min(kMaxAnnounced, announced + std::max(announced, kFindAhead))};
  index_->will_find({&run, 1});
  std::vector<chunk::ChunkRecord> records(static_cast<std::size_t>(announced));
  return find_run(first, records) ? will_read(records) : 0;
}

void ChunkStore::will_read_some(std::vector<std::uint64_t> chunks) const {
  if (!far() || chunks.empty()) return;
  std::ranges::sort(chunks);
  std::vector<chunk::ChunkIndex::Run> runs;
  for (const std::uint64_t chunk : chunks) {
    if (!runs.empty() && runs.back().first + runs.back().count == chunk)
      ++runs.back().count;
    else
      runs.push_back({chunk, 1});
  }
  index_->will_find(runs);
  std::vector<chunk::ChunkRecord> records;
  for (const std::uint64_t chunk : chunks)
    if (const auto record = find(chunk)) records.push_back(*record);
  will_read(records);
}

bool ChunkStore::stored_plain(std::uint64_t chunk, const chunk::ChunkRecord& record) const {
  if (pipeline_->empty()) return true;
  const std::uint32_t all = filter_count_ >= 32 ? ~0U : (1U << filter_count_) - 1;
  if ((record.filter_mask & all) == all) return true;
  return partial_unfiltered_ && plan_.is_edge(chunk);
}

Status ChunkStore::append_stored(std::uint64_t chunk, const chunk::ChunkRecord& record, std::uint64_t offset,
                                 std::uint64_t length, Pieces& out) const {
  if (out.add_mapped(*source_, record.address + offset, length)) return {};
  auto block = std::make_shared<cache::Block>(static_cast<std::size_t>(length));
  if (Status read = noted_read(source_->read_at(record.address + offset, block->bytes())); !read)
    return fail(located(read.error(), chunk, &record));
  out.add(block->bytes(), block);
  return {};
}

Status ChunkStore::check_stored(const chunk::ChunkRecord& record) const {
  if (record.stored_size > stored_limit(plan_.chunk_bytes()))
    return fail(Error(ErrorCode::LimitExceeded, structures::kChunk, "stored_size", record.address)
                    .with_found(record.stored_size)
                    .with_expected(stored_limit(plan_.chunk_bytes())));
  // The source's size is refreshed: a growing file may contain the chunk although it did not when the size
  // was read.
  if (!range_within(record.address, record.stored_size, source_->size())) H5_TRY(source_->state().refresh());
  if (!range_within(record.address, record.stored_size, source_->size()))
    return fail(Error(ErrorCode::Truncated, structures::kChunk, "address", record.address)
                    .with_found(record.stored_size)
                    .with_detail(fmt::format("bytes run beyond end of file {:#x}", source_->size())));
  return {};
}

DecodeMemory ChunkStore::memory(bool aside) const {
  if (!filtered())
    return {aside ? plan_.chunk_bytes() : 0, std::max(cache_bytes_ / 4, limits::kDecodingBytes), this};
  return {plan_.chunk_bytes() + scratch_bytes_ + (aside ? plan_.chunk_bytes() : 0),
          std::max(cache_bytes_ / 4, limits::kDecodingBytes), this};
}

Status ChunkStore::check_memory(std::uint64_t chunk, const chunk::ChunkRecord& record) const {
  const std::uint64_t most = cache_bytes_ + limits::kMaxDecodeAboveCache;
  const std::uint64_t needed = checked_add(plan_.chunk_bytes(), scratch_bytes_).value_or(UINT64_MAX);
  if (needed <= most) return {};
  return fail(located(Error(ErrorCode::TooMuchMemory,
                            "to decode the chunk takes more memory than a larger "
                            "cache_size would allow")
                          .with_expected(most)
                          .with_found(needed),
                      chunk, &record));
}

// The part of a chunk that is filled. If the chunk is far larger than its dataset, this is only the part
// within the image, so that no memory is committed for the rest.
MutableByteSpan ChunkStore::worth_filling(std::uint64_t chunk, MutableByteSpan out) const {
  constexpr std::size_t kFilledWhole = 64U << 20;
  if (out.size() <= kFilledWhole) return out;
  return out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), plan_.needed_bytes(chunk))));
}

Status ChunkStore::decode_stored(std::uint64_t chunk, const chunk::ChunkRecord& record, ByteSpan stored,
                                 MutableByteSpan out, ChunkDecode& work) const {
  Counters::add(counters_->chunks_decoded);
  if (stored_plain(chunk, record)) {
    if (stored.size() != out.size())
      return fail(located(Error(ErrorCode::InvalidValue, structures::kChunk, "stored_size", record.address)
                              .with_found(stored.size())
                              .with_expected(out.size()),
                          chunk, &record));
    std::memcpy(out.data(), stored.data(), out.size());
    return {};
  }
  H5_TRY(check_memory(chunk, record));
  const auto decoded = pipeline_->decode_up_to(stored, record.filter_mask, out, work.filters());
  if (!decoded) return fail(located(decoded.error(), chunk, &record));
  if (*decoded == out.size()) return {};
  // Some writers cut the last chunk at the end of the data; the part within the extent must be complete.
  if (*decoded < plan_.needed_bytes(chunk))
    return fail(located(Error(ErrorCode::FilterFailed, structures::kChunk, "decoded_size", record.address)
                            .with_found(*decoded)
                            .with_expected(out.size())
                            .with_detail("short chunk: its filters give too few bytes"),
                        chunk, &record));
  const MutableByteSpan seen = worth_filling(chunk, out);
  std::ranges::fill(seen.subspan(std::min(*decoded, seen.size())), std::byte{0});
  return {};
}

Status ChunkStore::decode(std::uint64_t chunk, const chunk::ChunkRecord& record, MutableByteSpan out,
                          ChunkDecode& work) const {
  if (!record.allocated()) {
    fill_.write(0, worth_filling(chunk, out));
    return {};
  }
  if (Status sound = check_stored(record); !sound) return fail(located(sound.error(), chunk, &record));
  const auto stored_size = static_cast<std::size_t>(record.stored_size);
  Counters::add(counters_->stored_bytes_read, stored_size);
  if (stored_plain(chunk, record) && stored_size == out.size()) {
    Counters::add(counters_->chunks_decoded);
    if (Status read = work.fetch_into(record.address, out); !read)
      return fail(located(read.error(), chunk, &record));
    return {};
  }
  if (!stored_plain(chunk, record)) H5_TRY(check_memory(chunk, record));
  const auto stored = work.fetch(record.address, stored_size);
  if (!stored) return fail(located(stored.error(), chunk, &record));
  return decode_stored(chunk, record, *stored, out, work);
}

Result<ChunkStore::Part> ChunkStore::decode_part(std::uint64_t chunk, const chunk::ChunkRecord& record,
                                                 std::uint64_t begin, std::uint64_t end,
                                                 ChunkDecode& work) const {
  if (!record.allocated() || stored_plain(chunk, record)) return Part{};
  if (Status sound = check_stored(record); !sound) return fail(located(sound.error(), chunk, &record));
  const auto stored = work.fetch(record.address, static_cast<std::size_t>(record.stored_size));
  if (!stored) return fail(located(stored.error(), chunk, &record));
  auto opened =
      pipeline_->open_partial(*stored, record.filter_mask, static_cast<std::size_t>(plan_.chunk_bytes()));
  if (!opened) return fail(located(opened.error(), chunk, &record));
  if (!*opened) return Part{};
  // The smallest box that is one run of the chunk: equal coordinates, then one range, then whole dimensions.
  const std::uint64_t e = plan_.element_size();
  std::uint64_t start[limits::kMaxRank], count[limits::kMaxRank], to[limits::kMaxRank];
  row_major_place(begin / e, chunk_dims_, start);
  row_major_place((end - 1) / e, chunk_dims_, to);
  std::uint64_t box_first = 0, bytes = e;
  bool apart = false;
  for (std::size_t i = 0; i < chunk_dims_.size(); ++i) {
    if (apart)
      start[i] = 0, count[i] = chunk_dims_[i];
    else
      count[i] = to[i] - start[i] + 1;
    apart = apart || count[i] > 1;
    box_first = box_first * chunk_dims_[i] + start[i];
    bytes *= count[i];
  }
  const std::size_t rank = chunk_dims_.size();
  const filter::ChunkBox box{chunk_dims_, std::span(start, rank), std::span(count, rank),
                             static_cast<std::size_t>(e)};
  if ((*opened)->blocks_of(box) * 2 > (*opened)->block_count()) return Part{};
  auto block = std::make_shared<cache::Block>(static_cast<std::size_t>(bytes));
  if (Status read = (*opened)->read_box(box, block->bytes()); !read)
    return fail(located(read.error(), chunk, &record));
  filter::filter_counters().blocks_in_reach.fetch_add((*opened)->block_count(), std::memory_order_relaxed);
  return Part{std::move(block), box_first * e};
}

}  // namespace h5mount::dataset
