#include "chunked_blocks.h"

#include <algorithm>
#include <atomic>

#include "h5mount/base/momentary.h"

namespace h5mount::dataset {
namespace {

constexpr std::size_t kDamagedBytes = 64U << 10;  // of the errors that are remembered

}  // namespace

ChunkedBlocks::ChunkedBlocks(const ReadEnvironment& environment, std::unique_ptr<ChunkStore> store,
                             std::unique_ptr<GrowthState> growth)
    : cache_(environment.cache),
      workers_(environment.workers),
      store_(std::move(store)),
      growth_(std::move(growth)),
      owner_(growth_ ? growth_->shared_owner() : cache::BlockCache::new_owner()),
      damaged_(kDamagedBytes) {
  Admission::decodes().allow(workers_->threads() + 1);  // a thread that serves a request decodes too
}

ChunkedBlocks::~ChunkedBlocks() {
  if (!growth_) cache_->erase_owner(owner_);
}

cache::BlockKey ChunkedBlocks::chunk_key(std::uint64_t chunk) const {
  constexpr auto kind = static_cast<std::uint64_t>(BlockKind::Chunk);
  if (!growth_) return {owner_, kind, chunk};
  const std::uint64_t row_block = chunk / plan().chunks_per_row_block();
  const ByteRange range{plan().row_block_offset(row_block), plan().row_block_offset(row_block + 1)};
  return {growth_->owner_of(kind, chunk, range, [&] { return finished(chunk, 1); }), kind, chunk};
}

cache::BlockKey ChunkedBlocks::stripe_key(BlockKind block_kind, std::uint64_t index, std::uint64_t first,
                                          std::uint64_t last) const {
  const auto kind = static_cast<std::uint64_t>(block_kind);
  if (!growth_) return {owner_, kind, index};
  const std::uint64_t chunks = plan().chunks_per_row_block();
  const ByteRange range{plan().row_block_offset(first), plan().row_block_offset(last)};
  const auto is_finished = [&] { return finished(first * chunks, (last - first) * chunks); };
  return {growth_->owner_of(kind, index, range, is_finished), kind, index};
}

cache::BlockKey ChunkedBlocks::spill_key(std::uint64_t index) const {
  return {growth_ ? growth_->own_owner() : owner_, static_cast<std::uint64_t>(BlockKind::SpillStripe), index};
}

Result<cache::BlockPtr> ChunkedBlocks::chunk_block(std::uint64_t chunk, RequestBudget& budget) const {
  H5_TRY(store_->check_memory(chunk, {}));  // the block is taken before the chunk's record is found
  const auto load = [&](cache::Block& block) -> Status {
    if (const auto known = damaged_.find(chunk)) return fail(*known);
    H5_TRY(budget.spend(plan().chunk_bytes()));
    const MomentaryWatch watch;  // an error of the bytes may follow from one that is not kept
    const Status decoded = watch.unless_met(decode(chunk, block.bytes()));
    if (!decoded && !growth_ && is_about_bytes(decoded.error().code()) && !is_passing(decoded.error()))
      damaged_.insert(chunk, std::make_shared<const Error>(decoded.error()),
                      sizeof(Error) + decoded.error().text().size());
    return decoded;
  };
  return cache_->get_or_load(chunk_key(chunk), static_cast<std::size_t>(plan().chunk_bytes()), load, budget);
}

Status ChunkedBlocks::decode(std::uint64_t chunk, MutableByteSpan out) const {
  H5_ASSIGN(const chunk::ChunkRecord record, store_->find(chunk));
  ChunkDecode work(store_->source(), store_->memory(false));
  return store_->decode(chunk, record, out, work);
}

Status ChunkedBlocks::run_jobs(std::uint64_t count, const std::function<Status(std::uint64_t)>& job) const {
  Mutex mutex;
  Status failure;
  std::atomic<std::uint64_t> failed{count};  // the first one, as whose error is the same each time
  workers_->for_each_index(static_cast<std::size_t>(count), [&](std::size_t i) {
    if (i > failed.load(std::memory_order_relaxed)) return;
    Status done = job(i);
    if (done) return;
    const MutexLock lock(mutex);
    if (i >= failed.load(std::memory_order_relaxed)) return;
    failed.store(i, std::memory_order_relaxed);
    failure = std::move(done);
  });
  return failure;
}

cache::BlockPtr ChunkedBlocks::cached_chunk(std::uint64_t chunk) const {
  return cache_->peek({owner_, static_cast<std::uint64_t>(BlockKind::Chunk), chunk});
}

bool ChunkedBlocks::finished(std::uint64_t first_chunk, std::uint64_t count) const {
  // The chunks at one index of the first dimension are rewritten together, and a row block may be only some
  // of them. So the next chunk that is looked at is one at the following index.
  const std::uint64_t across = plan().chunk_count() / plan().index_grid()[0];
  const std::uint64_t next = ((first_chunk + count - 1) / across + 1) * across;
  if (next >= plan().chunk_count()) return false;
  const auto behind = store_->find(next);
  if (!behind || !behind->allocated()) return false;
  std::vector<chunk::ChunkRecord> records(static_cast<std::size_t>(count));
  if (!store_->find_run(first_chunk, records)) return false;
  return std::ranges::all_of(records, &chunk::ChunkRecord::allocated);
}

}  // namespace h5mount::dataset
