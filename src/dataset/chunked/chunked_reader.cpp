#include "chunked_reader.h"

namespace h5mount::dataset {

Result<std::shared_ptr<const ChunkedReader>> ChunkedReader::open(const ReadEnvironment& environment,
                                                                 const object::OpenedFilePtr& file,
                                                                 object::DatasetDescription description,
                                                                 const ChunkedReader* previous) {
  const bool filtered = !description.pipeline.filters.empty();
  H5_ASSIGN(auto geometry, chunk::ChunkGeometry::make(description.space, description.layout, filtered));
  H5_ASSIGN(auto store,
            ChunkStore::open(file, description, geometry, environment.cache->budget(), environment.counters));
  std::unique_ptr<GrowthState> growth;
  if (file->followed->following())
    growth = std::make_unique<GrowthState>(environment.cache,
                                           previous != nullptr ? previous->blocks_->growth() : nullptr);
  auto blocks = std::make_shared<const ChunkedBlocks>(environment, std::move(store), std::move(growth));
  return std::shared_ptr<const ChunkedReader>(new ChunkedReader(std::move(description), std::move(blocks)));
}

ChunkedReader::ChunkedReader(object::DatasetDescription description, ChunkedBlocksPtr blocks)
    : DatasetReader(std::move(description)),
      blocks_(std::move(blocks)),
      allocation_(blocks_->plan(), blocks_->store().index()),
      sequence_(std::make_shared<const ChunkSequence>(blocks_)) {
  const ChunkStore& store = blocks_->store();
  // A far source has no pages for the kernel, so its chunks are decoded ahead and cached, as filtered ones
  // are.
  const StrategyFacts facts{blocks_->plan(), store.filtered() || store.far(), store.may_decode_partially(),
                            store.unallocated(), blocks_->cache()->budget()};
  strategy(StrategyKind::Chunks);  // the fallback of the others
  for (std::size_t access = 0; access < kAccessKinds; ++access)
    by_access_[access] = strategy(choose_strategy(facts, static_cast<Access>(access))).get();
}

const ReadStrategyPtr& ChunkedReader::strategy(StrategyKind kind) {
  ReadStrategyPtr& made = strategies_[static_cast<std::size_t>(kind)];
  if (!made) made = make_strategy(kind, blocks_);
  return made;
}

const ReadStrategy& ChunkedReader::strategy_for(bool sequential, std::uint64_t length) const {
  const Access access = sequential                              ? Access::Sequential
                        : length >= blocks_->plan().row_bytes() ? Access::WholeRows
                                                                : Access::Random;
  return *by_access_[static_cast<std::size_t>(access)];
}

// A reader that begins with a large request at the front of a far dataset is on its way through it: each
// request that it is not read ahead of waits for a round trip. Units are those of the strategy that then
// serves it.
bool ChunkedReader::goes_through(const ReadStrategy& strategy, std::uint64_t offset,
                                 std::uint64_t length) const {
  constexpr std::uint64_t kLarge = 1U << 20;
  return offset == 0 && length >= kLarge && blocks_->store().far() &&
         &strategy == by_access_[static_cast<std::size_t>(Access::Sequential)];
}

Status ChunkedReader::read(std::uint64_t offset, std::uint64_t length, ReadAccess access, Pieces& out) const {
  if (offset >= size()) return {};
  length = std::min(length, size() - offset);
  if (length == 0) return {};
  ReadPattern* const pattern = access.pattern;
  const ReadStrategy& strategy = strategy_for(pattern != nullptr && pattern->note(offset, length), length);
  const bool begins = pattern != nullptr && goes_through(strategy, offset, length);
  const bool forward = begins || (pattern != nullptr && pattern->forward());
  // Read-ahead must not delay the request itself, so it usually begins after the request is served. But if
  // the request only waits for blocks that are being decoded, read-ahead begins before, and the workers go on
  // to the next unit without a pause. If the source is far, read-ahead is fetched beside the request.
  const bool early = begins || (forward && strategy.has_begun(offset + length - 1));
  if (early) strategy.reader_advanced(offset, offset + length, *pattern);
  H5_TRY(read_with(strategy, offset, length, out, access.budget));
  if (forward && !early) strategy.reader_advanced(offset, offset + length, *pattern);
  return {};
}

Status ChunkedReader::read_with(const ReadStrategy& strategy, std::uint64_t offset, std::uint64_t length,
                                Pieces& out, RequestBudget& budget) const {
  if (!strategy.decodes_neighbours()) return strategy.read(offset, length, out, budget);
  Pieces pieces;
  if (strategy.read(offset, length, pieces, budget)) return out.append(std::move(pieces)), Status();
  return strategies_[static_cast<std::size_t>(StrategyKind::Chunks)]->read(offset, length, out, budget);
}

Status ChunkedReader::read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const {
  H5_TRY(check_inside(offset, out.size()));
  const ReadStrategy* strategy = &strategy_for(false, out.size());
  // Only the kernel may read the file's own pages.
  if (strategy == strategies_[static_cast<std::size_t>(StrategyKind::Direct)].get())
    strategy = strategies_[static_cast<std::size_t>(StrategyKind::Chunks)].get();
  Pieces pieces;
  H5_TRY(read_with(*strategy, offset, out.size(), pieces, budget));
  for (const Piece& piece : pieces.list()) {
    std::memcpy(out.data(), piece.bytes.data(), piece.bytes.size());
    out = out.subspan(piece.bytes.size());
  }
  return {};
}

Status ChunkedReader::read_chunk(std::uint64_t chunk, std::uint64_t offset, std::uint64_t length, Pieces& out,
                                 RequestBudget& budget) const {
  const ChunkPlan& plan = blocks_->plan();
  if (chunk >= plan.chunk_count() || !range_within(offset, length, plan.chunk_bytes()))
    return fail(Error(ErrorCode::OutOfRange, "Dataset", "chunk", chunk).with_found(offset));
  const ChunkStore& store = blocks_->store();
  if (!store.filtered()) {
    H5_ASSIGN(const chunk::ChunkRecord record, store.find(chunk));
    if (blocks_->growth() != nullptr) (void)blocks_->chunk_key(chunk);  // records that it is published
    if (!record.allocated()) return store.fill().append(offset, length, out), Status();
    if (record.stored_size == plan.chunk_bytes() &&
        out.add_mapped(store.source(), record.address + offset, length))
      return {};
  }
  H5_ASSIGN(const cache::BlockPtr block, blocks_->chunk_block(chunk, budget));
  out.add(block->bytes().subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length)), block);
  sequence_->chunk_read(chunk);
  return {};
}

Result<NextReader> ChunkedReader::continued(const ReadEnvironment& environment,
                                            const object::OpenedFilePtr& file,
                                            const object::DatasetDescription& next, RequestBudget&) const {
  if (grew_at_end(description(), next) && blocks_->growth() != nullptr && file->followed->following() &&
      description().layout.chunk_dims == next.layout.chunk_dims) {
    H5_ASSIGN(auto reader, open(environment, file, next, this));
    NextReader out{reader, {kWholeImage}};
    // `growth` is null if the file has become stale and is no longer followed.
    if (const GrowthState* growth = reader->blocks_->growth()) out.stale = growth->stale();
    return out;
  }
  return NextReader{};
}

std::optional<std::uint64_t> ChunkedReader::storage_bytes_known() const {
  if (blocks_->store().unallocated()) return 0;
  return allocation_.stored_bytes_known();
}

Result<std::uint64_t> ChunkedReader::find_data(std::uint64_t offset, RequestBudget& budget) const {
  if (offset < size() && !blocks_->store().fill().is_zero()) return offset;
  return allocation_.find_data(offset, budget);
}

Result<std::uint64_t> ChunkedReader::find_hole(std::uint64_t offset, RequestBudget& budget) const {
  if (offset < size() && !blocks_->store().fill().is_zero()) return size();
  return allocation_.find_hole(offset, budget);
}

}  // namespace h5mount::dataset
