// Consecutive row blocks decoded by all workers directly into image order and cached as one stripe.
//
//   image   |row block 0|row block 1|row block 2| ...
//           |------- stripe 0 ------|-- stripe 1 ...     (as many row blocks as kMaxStripe holds, at least
//           one)
#include <algorithm>
#include <unordered_set>

#include "h5mount/base/streaming_copy.h"
#include "h5mount/base/thread_annotations.h"
#include "read_strategy.h"

#include "../core/unit_readahead.h"

namespace h5mount::dataset {
namespace {

constexpr std::uint64_t kMinStripe = 256U << 10;
constexpr std::uint64_t kSmallStripe = 32U << 10;
constexpr std::size_t kMaxDamaged = 4096;  // stripes remembered as damaged
constexpr std::uint64_t kStreamedStripe = 8U << 20;
constexpr std::uint64_t kJobBytes = 256U << 10;  // bytes that one job decodes, far more than its start costs

class RowBlockStrategy final : public ReadStrategy,
                               public ReadaheadUnits,
                               public std::enable_shared_from_this<RowBlockStrategy> {
 public:
  // `tail` serves the last stripe of a dataset that may grow; it is null for others.
  RowBlockStrategy(ChunkedBlocksPtr blocks, BlockKind kind, std::uint64_t stripe_bytes, ReadStrategyPtr tail)
      : blocks_(std::move(blocks)),
        plan_(blocks_->plan()),
        kind_(kind),
        per_stripe_(std::max<std::uint64_t>(1, stripe_bytes / plan_.full_row_block_bytes())),
        stripe_count_(divide_up(plan_.row_block_count(), per_stripe_)),
        tail_(std::move(tail)),
        readahead_(blocks_->cache(), blocks_->workers(), blocks_->counters(),
                   per_stripe_ * plan_.full_row_block_bytes(), stripe_count_,
                   blocks_->store().most_announced(per_stripe_ * plan_.chunks_per_row_block())) {}

  Status read(std::uint64_t offset, std::uint64_t length, Pieces& out, RequestBudget& budget) const override;
  bool decodes_neighbours() const override { return true; }
  bool has_begun(std::uint64_t offset) const override {
    return !in_tail(offset) && unit_cached(stripe_at(offset));
  }
  void reader_advanced(std::uint64_t offset, std::uint64_t end, ReadPattern& pattern) const override;

  std::uint64_t unit_end(std::uint64_t stripe) const override {
    return plan_.row_block_offset(last_of(stripe));
  }
  bool unit_cached(std::uint64_t stripe) const override {
    return blocks_->cache()->contains_or_pending(key_of(stripe));
  }
  void make_unit(std::uint64_t stripe) const override { (void)stripe_block(stripe, Unbounded()); }
  std::uint64_t will_make(std::uint64_t first, std::uint64_t last) const override {
    const std::uint64_t begin = first_of(first), end = last_of(last - 1);
    return blocks_->store().will_read(begin * plan_.chunks_per_row_block(),
                                      (end - begin) * plan_.chunks_per_row_block());
  }

 private:
  struct Chunks {
    std::uint64_t first, count;
  };

  std::uint64_t stripe_at(std::uint64_t offset) const { return plan_.row_block_at(offset) / per_stripe_; }
  std::uint64_t first_of(std::uint64_t stripe) const { return stripe * per_stripe_; }
  std::uint64_t last_of(std::uint64_t stripe) const {
    return std::min(first_of(stripe) + per_stripe_, plan_.row_block_count());
  }
  bool in_tail(std::uint64_t offset) const { return tail_ && stripe_at(offset) == stripe_count_ - 1; }
  cache::BlockKey key_of(std::uint64_t stripe) const {
    return blocks_->stripe_key(kind_, stripe, first_of(stripe), last_of(stripe));
  }

  Result<cache::BlockPtr> stripe_block(std::uint64_t stripe, RequestBudget& budget) const;
  Status decode_stripe(std::uint64_t stripe, MutableByteSpan out, RequestBudget& budget) const;
  Status decode_chunks(Chunks chunks, std::uint64_t stripe_offset, MutableByteSpan stripe) const;
  void place(std::uint64_t chunk, ByteSpan decoded, MutableByteSpan row_block) const;
  void drop_behind(std::uint64_t offset, ReadPattern& pattern) const;

  ChunkedBlocksPtr blocks_;
  const ChunkPlan& plan_;
  BlockKind kind_;
  std::uint64_t per_stripe_;  // row blocks in a stripe
  std::uint64_t stripe_count_;
  ReadStrategyPtr tail_;  // null unless the dataset may grow
  Readahead readahead_;
  mutable Mutex damaged_mutex_;
  mutable std::unordered_set<std::uint64_t> damaged_ H5_GUARDED_BY(damaged_mutex_);  // numbers of stripes
};

Status RowBlockStrategy::read(std::uint64_t offset, std::uint64_t length, Pieces& out,
                              RequestBudget& budget) const {
  if (in_tail(offset)) return tail_->read(offset, length, out, budget);
  // The stripes of a request to a far source are asked for together, and not one after the other.
  const std::uint64_t first = stripe_at(offset), last = stripe_at(offset + length - 1);
  if (first < last && blocks_->store().far() && !unit_cached(first)) (void)will_make(first, last + 1);
  while (length > 0) {
    const std::uint64_t stripe = stripe_at(offset);
    H5_ASSIGN(const cache::BlockPtr block, stripe_block(stripe, budget));
    const auto at = static_cast<std::size_t>(offset - plan_.row_block_offset(first_of(stripe)));
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(length, block->size() - at));
    out.add(block->bytes().subspan(at, n), block);
    offset += n;
    length -= n;
  }
  return {};
}

Result<cache::BlockPtr> RowBlockStrategy::stripe_block(std::uint64_t stripe, RequestBudget& budget) const {
  {
    const MutexLock lock(damaged_mutex_);
    if (damaged_.contains(stripe))
      return fail(Error(ErrorCode::FilterFailed, "a chunk of the stripe is damaged"));
  }
  const auto bytes = static_cast<std::size_t>(unit_end(stripe) - plan_.row_block_offset(first_of(stripe)));
  const auto load = [&](cache::Block& block) -> Status {
    Status decoded = decode_stripe(stripe, block.bytes(), budget);
    if (decoded) {
      Counters::add(blocks_->counters()->row_blocks_made, last_of(stripe) - first_of(stripe));
    } else if (!is_passing(decoded.error())) {
      const MutexLock lock(damaged_mutex_);
      if (damaged_.size() < kMaxDamaged) damaged_.insert(stripe);
    }
    return decoded;
  };
  return blocks_->cache()->get_or_load(key_of(stripe), bytes, load, budget);
}

Status RowBlockStrategy::decode_stripe(std::uint64_t stripe, MutableByteSpan out,
                                       RequestBudget& budget) const {
  const std::uint64_t first_chunk = first_of(stripe) * plan_.chunks_per_row_block();
  const std::uint64_t count = (last_of(stripe) - first_of(stripe)) * plan_.chunks_per_row_block();
  const std::uint64_t stripe_offset = plan_.row_block_offset(first_of(stripe));
  // Each job decodes kJobBytes, or less if workers would otherwise be idle.
  const std::uint64_t by_bytes = std::max<std::uint64_t>(1, kJobBytes / plan_.chunk_bytes());
  const std::uint64_t by_threads = divide_up(count, std::uint64_t{2} * (blocks_->workers()->threads() + 1));
  const std::uint64_t per_job = std::min(count, std::clamp<std::uint64_t>(by_threads, 1, by_bytes));
  blocks_->store().will_read(first_chunk, count);
  return blocks_->run_jobs(divide_up(count, per_job), [&](std::uint64_t i) -> Status {
    const std::uint64_t begin = i * per_job, end = std::min(begin + per_job, count);
    H5_TRY(budget.spend((end - begin) * plan_.chunk_bytes()));
    return decode_chunks({first_chunk + begin, end - begin}, stripe_offset, out);
  });
}

Status RowBlockStrategy::decode_chunks(Chunks chunks, std::uint64_t stripe_offset,
                                       MutableByteSpan stripe) const {
  std::vector<chunk::ChunkRecord> records(static_cast<std::size_t>(chunks.count));
  H5_TRY(blocks_->store().find_run(chunks.first, records));
  const auto chunk_bytes = static_cast<std::size_t>(plan_.chunk_bytes());
  // Chunks that a random reader has decoded already are copied from the cache.
  std::vector<cache::BlockPtr> cached;
  if (chunk_bytes >= kTinyChunk) {
    cached.resize(records.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
      cached[i] = blocks_->cached_chunk(chunks.first + i);
      if (cached[i]) records[i].address = format::kUndefinedAddress;
    }
  }
  const auto row_block_of = [&](std::size_t i) {
    const std::uint64_t row_block = (chunks.first + i) / plan_.chunks_per_row_block();
    return stripe.subspan(static_cast<std::size_t>(plan_.row_block_offset(row_block) - stripe_offset),
                          static_cast<std::size_t>(plan_.row_block_bytes(row_block)));
  };
  const auto into = [&](std::size_t i) -> MutableByteSpan {
    const MutableByteSpan row_block = row_block_of(i);
    return plan_.linear() && row_block.size() == chunk_bytes ? row_block : MutableByteSpan();
  };
  const auto done = [&](std::size_t i, ByteSpan decoded) {
    const MutableByteSpan row_block = row_block_of(i);
    if (!cached.empty() && cached[i]) decoded = cached[i]->bytes();
    if (decoded.data() != row_block.data()) place(chunks.first + i, decoded, row_block);
  };
  ChunkDecode work(blocks_->store().source(), blocks_->store().memory(!plan_.linear()));
  return blocks_->store().decode_run(chunks.first, records, work, into, done);
}

// Two stripes of kStreamedStripe and the chunks decoded into them exceed the processor's caches, so they are
// written past the caches.
void RowBlockStrategy::place(std::uint64_t chunk, ByteSpan decoded, MutableByteSpan row_block) const {
  const ChunkPlan::Rows all{0, plan_.row_block_rows(chunk / plan_.chunks_per_row_block())};
  const bool streams = per_stripe_ * plan_.full_row_block_bytes() >= kStreamedStripe;
  plan_.for_each_chunk_run(chunk, all, [&](std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
    const MutableByteSpan run =
        row_block.subspan(static_cast<std::size_t>(to), static_cast<std::size_t>(bytes));
    if (decoded.empty())
      blocks_->store().fill().write(0, run);
    else if (streams)
      streaming_copy(decoded.subspan(static_cast<std::size_t>(from), run.size()), run);
    else
      std::memcpy(run.data(), decoded.data() + from, run.size());
  });
  if (streams) end_streaming();
}

void RowBlockStrategy::reader_advanced(std::uint64_t offset, std::uint64_t end, ReadPattern& pattern) const {
  if (kind_ != BlockKind::Stripe) return;
  if (in_tail(offset)) return tail_->reader_advanced(offset, end, pattern);
  drop_behind(offset, pattern);
  readahead_.advance(shared_from_this(), stripe_at(end - 1), pattern,
                     stripe_at(std::min(end, plan_.image_bytes() - 1)));
}

// The kernel has the pages that a forward reader has passed. Freeing the stripes at once lets the next ones
// reuse their memory: a scan stays within a few stripes in the processor's cache, and other readers' blocks
// stay in the block cache.
void RowBlockStrategy::drop_behind(std::uint64_t offset, ReadPattern& pattern) const {
  if (blocks_->growth() != nullptr || offset < ReadPattern::kReorder) return;
  const auto [first, last] = pattern.claim_behind(stripe_at(offset - ReadPattern::kReorder));
  for (std::uint64_t stripe = first; stripe < last; ++stripe) blocks_->cache()->erase(key_of(stripe));
}

}  // namespace

ReadStrategyPtr make_row_block_strategy(ChunkedBlocksPtr blocks) {
  const std::uint64_t stripe =
      std::clamp<std::uint64_t>(blocks->cache()->budget() / 64, kMinStripe, kMaxStripe);
  ReadStrategyPtr tail;
  if (blocks->growth() != nullptr) tail = make_strategy(choose_tail_strategy(blocks->plan()), blocks);
  return std::make_shared<const RowBlockStrategy>(std::move(blocks), BlockKind::Stripe, stripe,
                                                  std::move(tail));
}

ReadStrategyPtr make_small_row_block_strategy(ChunkedBlocksPtr blocks) {
  return std::make_shared<const RowBlockStrategy>(std::move(blocks), BlockKind::SmallStripe, kSmallStripe,
                                                  nullptr);
}

}  // namespace h5mount::dataset
