#include "sparse_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "h5mount/base/limits.h"
#include "h5mount/metadata/filter_pipeline.h"
#include "scratch_pool.h"

namespace h5mount {
namespace {

constexpr std::uint64_t kChunk = 0, kBandList = 1;  // kinds of blocks in the cache
constexpr std::uint64_t kListPiece = 1U << 20;      // rendered at once
constexpr std::uint64_t kLeastHole = 64U << 10;     // bytes between defined elements that SEEK_HOLE tells of

// The element numbers of a band list: they stand in front of as many values.
std::span<const std::uint64_t> listed_elements(const Block& list, std::uint64_t element_size) {
  return {reinterpret_cast<const std::uint64_t*>(list.bytes().data()),
          static_cast<std::size_t>(list.size() / (8 + element_size))};
}

Error list_too_long() {
  return {ErrorCode::LimitExceeded, "one row of chunks holds more elements than can be listed at once"};
}

}  // namespace

Result<std::shared_ptr<const DatasetReader>> SparseReader::open(const ReadEnvironment& environment, OpenedFilePtr file,
                                                                DatasetDescription description) {
  const bool filtered = !description.pipeline.sections.empty();
  H5_ASSIGN(auto geometry, ChunkGeometry::make(description.space, description.layout, filtered));
  H5_ASSIGN(auto index, open_chunk_index(file->metadata, description.layout, geometry));
  std::map<unsigned, std::shared_ptr<const FilterPipeline>> pipelines;
  for (const auto& section : description.pipeline.sections) {
    H5_ASSIGN(pipelines[section.number], make_filter_pipeline(section.filters, geometry.chunk_bytes));
  }
  std::shared_ptr<SparseReader> reader(
      new SparseReader(environment, std::move(file), std::move(description), geometry));
  reader->index_ = std::move(index);
  reader->pipelines_ = std::move(pipelines);
  return reader;
}

SparseReader::SparseReader(const ReadEnvironment& environment, OpenedFilePtr file, DatasetDescription description,
                           const ChunkGeometry& geometry)
    : DatasetReader(std::move(description)),
      cache_(environment.cache),
      file_(std::move(file)),
      plan_(geometry),
      fill_(this->description().fill, this->description().element_size),
      filtered_(geometry.filtered),
      owner_(BlockCache::new_owner()) {}

SparseReader::~SparseReader() { cache_->erase_owner(owner_); }

std::optional<Error> SparseReader::problem() const {
  for (const auto& [section, pipeline] : pipelines_)
    if (auto missing = pipeline->missing()) return missing;
  return std::nullopt;
}

Error SparseReader::located(const Error& error, std::uint64_t chunk, const ChunkRecord* record) const {
  std::string place = plan_.place_of(chunk);
  if (record != nullptr)
    place += fmt::format(", {} bytes at {:#x}", record->stored_size,
                         file_->metadata->base_address() + record->address);
  return error.within(fmt::format("sparse {}, of dataset at {:#x}", place, description().address));
}

// ---- chunks ----------------------------------------------------------------------------------------------------

Result<BlockPtr> SparseReader::chunk_block(std::uint64_t chunk) const {
  const BlockKey key{owner_, kChunk, chunk};
  if (auto block = cache_->peek(key)) return block;
  std::uint64_t scaled[limits::kMaxRank];
  const std::span<std::uint64_t> at(scaled, plan_.index_rank());
  plan_.scaled_of(chunk, at);
  auto record = index_->find(at);
  if (!record) return fail(located(record.error(), chunk));
  if (!record->allocated()) return BlockPtr();
  auto block = cache_->get_or_make(key, static_cast<std::size_t>(std::min<std::uint64_t>(record->stored_size, 1U << 20)),
                                   [&] { return load_chunk(chunk, *record); });
  if (!block) return fail(located(block.error(), chunk, &*record));
  return block;
}

Result<std::shared_ptr<Block>> SparseReader::load_chunk(std::uint64_t chunk, const ChunkRecord& record) const {
  if (!range_within(record.address, record.stored_size, file_->metadata->addresses()->size()))
    return fail(Error(ErrorCode::Truncated, "StructuredChunk", "address", record.address)
                    .with_found(record.stored_size)
                    .with_detail("bytes run beyond the end of file"));
  H5_ASSIGN(SparseSections sections, decode_sparse_sections(record, filtered_, plan_.chunk_bytes()));
  // Flagged so, chunks that reach over the extent bypass every pipeline, whatever their masks say.
  const bool bypass = description().layout.partial_chunks_unfiltered && plan_.is_edge(chunk);
  if (bypass) sections.selection.filter_mask = sections.values.filter_mask = ~0U;
  H5_ASSIGN(const auto selection, load_section(record, sections.selection, 0));
  H5_ASSIGN(const auto values, load_section(record, sections.values, 1));
  read_counters().chunks_decoded.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t offset = file_->metadata->base_address() + record.address;
  return SparseChunk::make_block(std::as_const(*selection).bytes(), offset, std::as_const(*values).bytes(),
                                 description().layout.chunk_dims, description().element_size);
}

Result<std::shared_ptr<Block>> SparseReader::load_section(const ChunkRecord& record,
                                                          const SparseSections::Section& section,
                                                          unsigned number) const {
  auto plain = std::make_shared<Block>(static_cast<std::size_t>(section.plain));
  if (section.plain == 0) return plain;  // an empty section is empty, whatever a writer stored for it
  const auto pipeline = pipelines_.find(number);
  const bool as_stored = pipeline == pipelines_.end() || pipeline->second->empty() || section.filter_mask == ~0U;
  const std::uint64_t address = record.address + section.offset;
  const ByteSource& source = *file_->metadata->addresses();
  if (as_stored) {
    if (section.stored != section.plain)
      return fail(Error(ErrorCode::InvalidValue, "StructuredChunk", "unfiltered_size", address)
                      .with_found(section.plain)
                      .with_expected(section.stored));
    H5_TRY(source.read_at(address, plain->bytes()));
    return plain;
  }
  ScratchPool::Lease scratch(ScratchPool::shared());
  const MutableByteSpan stored = scratch->stored(static_cast<std::size_t>(section.stored));
  H5_TRY(source.read_at(address, stored));
  H5_TRY(pipeline->second->decode(stored, section.filter_mask, plain->bytes(), scratch->filters));
  return plain;
}

// ---- the dense image -------------------------------------------------------------------------------------------

Status SparseReader::read(std::uint64_t offset, std::uint64_t length, ReadPattern*, Pieces& out) const {
  if (offset >= size()) return {};
  length = std::min(length, size() - offset);
  if (length == 0) return {};
  H5_ASSIGN(const Blocks blocks, blocks_of(offset, length));
  if (std::ranges::none_of(blocks, [](const auto& b) { return b.second != nullptr; })) {
    fill_.append(offset, length, out);
    return {};
  }
  auto block = std::make_shared<Block>(static_cast<std::size_t>(length));
  assemble(blocks, offset, block->bytes());
  out.add(block->bytes(), block);
  return {};
}

Status SparseReader::read_into(std::uint64_t offset, MutableByteSpan out) const {
  if (!range_within(offset, out.size(), size()))
    return fail(Error(ErrorCode::OutOfRange, "Dataset", "image", offset).with_found(out.size()));
  H5_ASSIGN(const Blocks blocks, blocks_of(offset, out.size()));
  assemble(blocks, offset, out);
  return {};
}

Result<SparseReader::Blocks> SparseReader::blocks_of(std::uint64_t offset, std::uint64_t length) const {
  Blocks blocks;
  Status status;
  plan_.for_each_stretch(offset, length, [&](std::uint64_t chunk, std::uint64_t, std::uint64_t) {
    if (blocks.contains(chunk)) return true;
    auto block = chunk_block(chunk);
    if (!block) return status = fail(std::move(block).error()), false;
    blocks.emplace(chunk, std::move(*block));
    return true;
  });
  H5_TRY(std::move(status));
  return blocks;
}

void SparseReader::assemble(const Blocks& blocks, std::uint64_t offset, MutableByteSpan out) const {
  fill_.write(offset, out);
  const std::uint64_t e = description().element_size;
  std::byte* to = out.data();
  plan_.for_each_stretch(offset, out.size(), [&](std::uint64_t chunk, std::uint64_t at, std::uint64_t bytes) {
    std::byte* const place = to;
    to += bytes;
    const BlockPtr& block = blocks.at(chunk);
    if (!block) return true;
    const SparseChunk sparse(block);
    const auto stretches = sparse.stretches();
    auto it = std::ranges::upper_bound(stretches, at / e, {}, &SparseChunk::Stretch::linear);
    if (it != stretches.begin()) --it;
    for (; it != stretches.end() && it->linear * e < at + bytes; ++it) {
      const std::uint64_t begin = std::max(at, it->linear * e), end = std::min(at + bytes, (it->linear + it->length) * e);
      if (begin < end)
        std::memcpy(place + (begin - at), sparse.values().data() + it->ordinal * e + (begin - it->linear * e),
                    static_cast<std::size_t>(end - begin));
    }
    return true;
  });
}

// ---- what is allocated -----------------------------------------------------------------------------------------

Result<std::shared_ptr<const AllocationMap>> SparseReader::allocation() const {
  {
    const std::lock_guard lock(mutex_);
    if (allocation_) return allocation_;
  }
  H5_ASSIGN(auto map, AllocationMap::make(plan_, *index_));
  auto shared = std::make_shared<const AllocationMap>(std::move(map));
  const std::lock_guard lock(mutex_);
  if (!allocation_) allocation_ = std::move(shared);
  return allocation_;
}

Result<std::uint64_t> SparseReader::storage_bytes() const {
  H5_ASSIGN(const auto map, allocation());
  return map->stored_bytes;
}

std::optional<std::uint64_t> SparseReader::storage_bytes_known() const {
  const std::lock_guard lock(mutex_);
  if (allocation_) return allocation_->stored_bytes;
  return std::nullopt;
}

// The first defined byte at or after `at` within its band; the band's end where there is none. A band that cannot be
// listed (damaged, or too long a list) is data throughout: reading it tells.
std::uint64_t SparseReader::next_defined(std::uint64_t at) const {
  const std::uint64_t band = plan_.band_at(at), e = description().element_size;
  const auto list = band_list(band, 0);
  if (!list) return at;
  const auto elements = listed_elements(**list, e);
  const auto it = std::ranges::lower_bound(elements, at / e);
  return it == elements.end() ? plan_.band_offset(band + 1) : std::max(at, *it * e);
}

// The end of the defined elements that follow one another from `at` on, within its band.
std::uint64_t SparseReader::end_of_defined(std::uint64_t at) const {
  const std::uint64_t band = plan_.band_at(at), e = description().element_size;
  const auto list = band_list(band, 0);
  if (!list) return plan_.band_offset(band + 1);
  const auto elements = listed_elements(**list, e);
  auto it = std::ranges::lower_bound(elements, at / e);
  std::uint64_t last = at / e;
  while (it != elements.end() && *it <= last + 1) last = *it++;
  return (last + 1) * e;
}

Result<std::uint64_t> SparseReader::find_data(std::uint64_t offset) const {
  if (offset >= size()) return fail(Error(ErrorCode::NotFound, "offset beyond the end"));
  if (!fill_.is_zero()) return offset;
  H5_ASSIGN(const auto map, allocation());
  while (offset < size()) {
    H5_ASSIGN(offset, map->find_data(plan_, offset));
    const std::uint64_t end = plan_.band_offset(plan_.band_at(offset) + 1);
    const std::uint64_t found = next_defined(offset);
    if (found < end) return found;
    offset = end;
  }
  return fail(Error(ErrorCode::NotFound, "no data after this offset"));
}

// Gaps too short to be worth two system calls are no holes.
Result<std::uint64_t> SparseReader::find_hole(std::uint64_t offset) const {
  if (offset >= size()) return fail(Error(ErrorCode::NotFound, "offset beyond the end"));
  if (!fill_.is_zero()) return size();
  H5_ASSIGN(const auto map, allocation());
  for (std::uint64_t at = offset; at < size();) {
    if (map->find_hole(plan_, at) == at) return at;
    const std::uint64_t end = plan_.band_offset(plan_.band_at(at) + 1);
    const std::uint64_t found = next_defined(at);
    if (found >= end || found - at >= kLeastHole) return at;
    at = std::min(end, end_of_defined(found));
  }
  return size();
}

// ---- the list form ---------------------------------------------------------------------------------------------

template <class Visit>
Status SparseReader::for_each_element(std::uint64_t chunk, Visit visit) const {
  H5_ASSIGN(const BlockPtr block, chunk_block(chunk));
  if (!block) return {};
  const SparseChunk sparse(block);
  const auto& dims = description().space.dims;
  const auto& chunk_dims = description().layout.chunk_dims;
  const std::size_t rank = dims.size();
  std::uint64_t scaled[limits::kMaxRank];
  plan_.scaled_of(chunk, std::span(scaled, rank));
  const std::uint64_t e = description().element_size;
  for (const SparseChunk::Stretch& s : sparse.stretches()) {
    for (std::uint64_t k = 0; k < s.length; ++k) {
      std::uint64_t left = s.linear + k, image = 0, scale = 1;
      bool inside = true;
      for (std::size_t i = rank; i-- > 0; left /= chunk_dims[i], scale *= dims[i]) {
        const std::uint64_t x = scaled[i] * chunk_dims[i] + left % chunk_dims[i];
        inside = inside && x < dims[i];
        image += x * scale;
      }
      if (inside) visit(image, sparse.values().subspan(static_cast<std::size_t>((s.ordinal + k) * e), static_cast<std::size_t>(e)));
    }
  }
  return {};
}

Result<std::uint64_t> SparseReader::count_in_chunk(std::uint64_t chunk) const {
  std::uint64_t n = 0;
  H5_TRY(for_each_element(chunk, [&](std::uint64_t, ByteSpan) { ++n; }));
  return n;
}

Result<std::shared_ptr<const SparseReader::BandCounts>> SparseReader::band_counts() const {
  {
    const std::lock_guard lock(mutex_);
    if (band_counts_) return band_counts_;
  }
  std::map<std::uint64_t, std::uint64_t> counts;
  std::vector<std::uint64_t> chunks;
  Status status;
  H5_TRY(index_->for_each([&](std::span<const std::uint64_t> scaled, const ChunkRecord& record) {
    if (!record.allocated()) return true;
    std::uint64_t chunk = 0;
    for (std::size_t i = 0; i < scaled.size(); ++i) chunk = chunk * plan_.index_grid()[i] + scaled[i];
    const auto n = count_in_chunk(chunk);
    if (!n) return status = fail(n.error()), false;
    if (*n == 0) return true;
    counts[chunk / plan_.chunks_per_band()] += *n;
    chunks.push_back(chunk);
    return true;
  }));
  H5_TRY(std::move(status));
  auto made = std::make_shared<BandCounts>();
  std::ranges::sort(chunks);
  made->chunks = std::move(chunks);
  made->before.push_back(0);
  for (const auto& [band, n] : counts) {
    made->bands.push_back(band);
    made->before.push_back(made->before.back() + n);
  }
  const std::lock_guard lock(mutex_);
  if (!band_counts_) band_counts_ = std::move(made);
  return band_counts_;
}

Result<std::uint64_t> SparseReader::count() const {
  if (size() == 0) return 0;
  H5_ASSIGN(const auto counts, band_counts());
  return counts->before.back();
}

Result<BlockPtr> SparseReader::band_list(std::uint64_t band, std::uint64_t expected) const {
  const BlockKey key{owner_, kBandList, band};
  if (auto block = cache_->peek(key)) return block;
  const auto bytes = checked_mul(expected, 8 + description().element_size);
  if (!bytes || *bytes > limits::kMaxSparseListBytes) return fail(list_too_long());
  return cache_->get_or_make(key, static_cast<std::size_t>(*bytes), [&] { return make_band_list(band, expected); });
}

// The allocated chunks of a band. A band may be 2^60 chunks wide, of which the file holds a few: then they are looked for
// among those, not in the band.
Result<std::vector<std::uint64_t>> SparseReader::chunks_of_band(std::uint64_t band) const {
  constexpr std::uint64_t kLookedAtOneByOne = 1U << 16;
  const std::uint64_t width = plan_.chunks_per_band();
  if (width > kLookedAtOneByOne) {
    H5_ASSIGN(const auto counts, band_counts());
    const auto within = std::ranges::equal_range(counts->chunks, band, {}, [&](std::uint64_t c) { return c / width; });
    return std::vector<std::uint64_t>(within.begin(), within.end());
  }
  std::vector<ChunkRecord> records(static_cast<std::size_t>(width));
  std::uint64_t scaled[limits::kMaxRank];
  const std::span<std::uint64_t> at(scaled, plan_.index_rank());
  plan_.scaled_of(band * width, at);
  H5_TRY(index_->find_run(at, records));
  std::vector<std::uint64_t> chunks;
  for (std::size_t k = 0; k < records.size(); ++k)
    if (records[k].allocated()) chunks.push_back(band * width + k);
  return chunks;
}

Result<std::shared_ptr<Block>> SparseReader::make_band_list(std::uint64_t band, std::uint64_t expected) const {
  struct Item {
    std::uint64_t image;
    std::uint64_t value;  // byte offset in `values`
  };
  std::vector<Item> items;
  std::vector<std::byte> values;
  const std::size_t most = static_cast<std::size_t>(limits::kMaxSparseListBytes / (8 + description().element_size));
  bool too_long = false;
  items.reserve(static_cast<std::size_t>(expected));
  H5_ASSIGN(const auto chunks, chunks_of_band(band));
  for (const std::uint64_t chunk : chunks)
    H5_TRY(for_each_element(chunk, [&](std::uint64_t image, ByteSpan value) {
      if (too_long = too_long || items.size() >= most; too_long) return;
      items.push_back({image, values.size()});
      values.insert(values.end(), value.begin(), value.end());
    }));
  if (too_long) return fail(list_too_long());
  std::ranges::sort(items, {}, &Item::image);
  const auto e = static_cast<std::size_t>(description().element_size);
  auto block = std::make_shared<Block>(items.size() * (8 + e));
  std::byte* numbers = block->bytes().data();
  std::byte* ordered = numbers + items.size() * 8;
  for (const Item& item : items) {
    std::memcpy(numbers, &item.image, 8);
    std::memcpy(ordered, values.data() + item.value, e);
    numbers += 8;
    ordered += e;
  }
  return block;
}

template <class Render>
Status SparseReader::read_list(std::uint64_t item_bytes, std::uint64_t offset, std::uint64_t length, Pieces& out,
                               Render render) const {
  if (size() == 0) return {};
  H5_ASSIGN(const auto counts, band_counts());
  const auto total = checked_mul(counts->before.back(), item_bytes);
  if (!total || offset >= *total) return {};
  const std::uint64_t end = offset + std::min({length, *total - offset, kListPiece});
  const std::uint64_t first = offset / item_bytes, last = divide_up(end, item_bytes);
  auto block = std::make_shared<Block>(static_cast<std::size_t>((last - first) * item_bytes));
  for (std::uint64_t item = first; item < last;) {
    const auto after = std::ranges::upper_bound(counts->before, item);
    const auto slot = static_cast<std::size_t>(after - counts->before.begin()) - 1;
    const std::uint64_t in_band = counts->before[slot + 1] - counts->before[slot];
    H5_ASSIGN(const BlockPtr list, band_list(counts->bands[slot], in_band));
    if (listed_elements(*list, description().element_size).size() != in_band)
      return fail(Error(ErrorCode::Stale, "the sparse dataset changed while it was read"));
    const std::uint64_t n = std::min(last, counts->before[slot + 1]) - item;
    render(*list, in_band, item - counts->before[slot], n,
           block->bytes().subspan(static_cast<std::size_t>((item - first) * item_bytes)));
    item += n;
  }
  out.add(std::as_const(*block).bytes().subspan(static_cast<std::size_t>(offset - first * item_bytes),
                                                static_cast<std::size_t>(end - offset)),
          block);
  if (end < offset + length && end < *total) return read_list(item_bytes, end, offset + length - end, out, render);
  return {};
}

Status SparseReader::read_coordinates(std::uint64_t offset, std::uint64_t length, Pieces& out) const {
  const auto& dims = description().space.dims;
  return read_list(8 * dims.size(), offset, length, out,
                   [&](const Block& list, std::uint64_t, std::uint64_t first, std::uint64_t n, MutableByteSpan to) {
                     for (std::uint64_t k = 0; k < n; ++k) {
                       std::uint64_t image = load_le<std::uint64_t>(list.bytes().data() + (first + k) * 8);
                       for (std::size_t i = dims.size(); i-- > 0; image /= dims[i]) {
                         const std::uint64_t x = image % dims[i];
                         std::memcpy(to.data() + (k * dims.size() + i) * 8, &x, 8);
                       }
                     }
                   });
}

Status SparseReader::read_values(std::uint64_t offset, std::uint64_t length, Pieces& out) const {
  const std::uint64_t e = description().element_size;
  return read_list(e, offset, length, out,
                   [&](const Block& list, std::uint64_t in_band, std::uint64_t first, std::uint64_t n, MutableByteSpan to) {
                     std::memcpy(to.data(), list.bytes().data() + in_band * 8 + first * e, static_cast<std::size_t>(n * e));
                   });
}

}  // namespace h5mount
