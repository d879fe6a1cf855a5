#include "sparse_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "../chunked/chunk_decode.h"
#include "../chunked/chunk_store.h"
#include "h5mount/base/momentary.h"
#include "h5mount/base/row_major.h"
#include "h5mount/metadata/filter_pipeline.h"

namespace h5mount::dataset {

Result<std::unique_ptr<SparseStore>> SparseStore::open(const ReadEnvironment& environment,
                                                       const object::OpenedFilePtr& file,
                                                       const object::DatasetDescription& description) {
  const bool filtered = !description.pipeline.sections.empty();
  H5_ASSIGN(auto geometry, chunk::ChunkGeometry::make(description.space, description.layout, filtered));
  H5_ASSIGN(auto index, chunk::open_chunk_index(file->reread(), description.layout, geometry));
  std::unique_ptr<SparseStore> store(new SparseStore(environment, *file->followed, description, geometry));
  store->index_ = std::move(index);
  for (const auto& section : description.pipeline.sections) {
    H5_ASSIGN(store->pipelines_[section.number],
              metadata::make_filter_pipeline(section.filters, geometry.chunk_bytes));
  }
  return store;
}

SparseStore::SparseStore(const ReadEnvironment& environment, const metadata::FollowedFile& file,
                         const object::DatasetDescription& description, const chunk::ChunkGeometry& geometry)
    : cache_(environment.cache),
      counters_(environment.counters),
      source_(file.source()),
      base_address_(file.base_address()),
      plan_(geometry),
      dims_(description.space.dims),
      chunk_dims_(description.layout.chunk_dims),
      dataset_address_(description.address),
      filtered_(geometry.filtered),
      partial_unfiltered_(description.layout.partial_chunks_unfiltered),
      checksummed_(description.layout.structured.checksummed),
      owner_(cache::BlockCache::new_owner()) {}

SparseStore::~SparseStore() {
  cache_->erase_owner(owner_);
}

std::optional<Error> SparseStore::problem() const {
  const auto missing = [](const auto& section) { return section.second->missing().has_value(); };
  if (std::ranges::none_of(pipelines_, missing)) return std::nullopt;
  return needed_by_all(*index_,
                       [this](std::span<const std::uint64_t> scaled,
                              const chunk::ChunkRecord& record) -> std::optional<Error> {
                         const std::uint64_t chunk = row_major_number(scaled, plan_.index_grid());
                         const auto sections = sections_of(chunk, record);
                         if (!sections) return std::nullopt;  // the read of the chunk tells
                         for (const auto& [number, pipeline] : pipelines_) {
                           const SparseSections::Section& section =
                               number == 0 ? sections->selection : sections->values;
                           if (section.plain == 0 || section.filter_mask == ~0U) continue;
                           if (auto error = pipeline->missing(section.filter_mask)) return error;
                         }
                         return std::nullopt;
                       });
}

// With its flag, chunks that exceed the extent are unfiltered, whatever their filter masks are.
Result<SparseSections> SparseStore::sections_of(std::uint64_t chunk, const chunk::ChunkRecord& record) const {
  constexpr std::uint64_t kChecksumBytes = 4;
  const std::uint64_t most = plan_.chunk_bytes() + ((checksummed_ & 2) != 0 ? kChecksumBytes : 0);
  H5_ASSIGN(SparseSections sections, decode_sparse_sections(record, filtered_, most));
  if (partial_unfiltered_ && plan_.is_edge(chunk))
    sections.selection.filter_mask = sections.values.filter_mask = ~0U;
  return sections;
}

Error SparseStore::located(const Error& error, std::uint64_t chunk, const chunk::ChunkRecord* record) const {
  std::string place = plan_.place_of(chunk);
  if (record != nullptr)
    place += fmt::format(", {} bytes at {:#x}", record->stored_size, base_address_ + record->address);
  return error.within(fmt::format("sparse {}, of dataset at {:#x}", place, dataset_address_));
}

Result<cache::BlockPtr> SparseStore::chunk_block(std::uint64_t chunk, RequestBudget& budget) const {
  constexpr std::uint64_t kMaxEstimate = 1U << 20;  // charged to the cache until the block's size is known
  const cache::BlockKey key{owner_, kChunk, chunk};
  if (auto block = cache_->peek(key)) return block;
  std::uint64_t scaled[limits::kMaxRank];
  const std::span<std::uint64_t> at(scaled, plan_.index_rank());
  plan_.scaled_of(chunk, at);
  auto record = index_->find(at);
  if (!record) return fail(located(record.error(), chunk));
  if (!record->allocated()) return cache::BlockPtr();
  const auto estimate = static_cast<std::size_t>(std::min<std::uint64_t>(record->stored_size, kMaxEstimate));
  auto block = cache_->get_or_make(key, estimate, [&] { return load_chunk(chunk, *record, budget); }, budget);
  if (!block) return fail(located(block.error(), chunk, &*record));
  return block;
}

Result<std::shared_ptr<cache::Block>> SparseStore::load_chunk(std::uint64_t chunk,
                                                              const chunk::ChunkRecord& record,
                                                              RequestBudget& budget) const {
  if (!range_within(record.address, record.stored_size, source_->size()))
    return fail(Error(ErrorCode::Truncated, "StructuredChunk", "address", record.address)
                    .with_found(record.stored_size)
                    .with_detail("bytes run beyond the end of file"));
  H5_ASSIGN(const SparseSections sections, sections_of(chunk, record));
  H5_TRY(budget.spend(sections.selection.plain));
  H5_TRY(budget.spend(sections.values.plain));
  H5_ASSIGN(const auto selection, load_section(record, sections.selection, 0));
  H5_ASSIGN(const auto values, load_section(record, sections.values, 1));
  Counters::add(counters_->chunks_decoded);
  const std::uint64_t offset = base_address_ + record.address;
  const ByteSpan selected = std::as_const(*selection).bytes(), stored = std::as_const(*values).bytes();
  if ((checksummed_ & 2) == 0)
    return SparseChunk::make_block(selected, offset, stored, chunk_dims_, plan_.element_size(),
                                   (checksummed_ & 1) != 0);
  H5_ASSIGN(const ByteSpan plain,
            without_checksum(stored, offset + sections.values.offset, "StructuredChunkValues"));
  return SparseChunk::make_block(selected, offset, plain, chunk_dims_, plan_.element_size(),
                                 (checksummed_ & 1) != 0);
}

Result<std::shared_ptr<cache::Block>> SparseStore::load_section(const chunk::ChunkRecord& record,
                                                                const SparseSections::Section& section,
                                                                unsigned number) const {
  auto plain = std::make_shared<cache::Block>(static_cast<std::size_t>(section.plain));
  if (section.plain == 0) return plain;  // whatever a writer stored for an empty section
  const auto pipeline = pipelines_.find(number);
  const bool as_stored =
      pipeline == pipelines_.end() || pipeline->second->empty() || section.filter_mask == ~0U;
  const std::uint64_t address = record.address + section.offset;
  if (as_stored) {
    if (section.stored != section.plain)
      return fail(Error(ErrorCode::InvalidValue, "StructuredChunk", "unfiltered_size", address)
                      .with_found(section.plain)
                      .with_expected(section.stored));
    H5_TRY(noted_read(source_->read_at(address, plain->bytes())));
    return plain;
  }
  ChunkDecode work(*source_, {.owner = this});
  H5_ASSIGN(const ByteSpan stored, work.fetch(address, static_cast<std::size_t>(section.stored)));
  H5_TRY(pipeline->second->decode(stored, section.filter_mask, plain->bytes(), work.filters()));
  return plain;
}

}  // namespace h5mount::dataset
