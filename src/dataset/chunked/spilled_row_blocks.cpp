#include "spilled_row_blocks.h"

#include <atomic>
#include <chrono>

#include "h5mount/base/log.h"

namespace h5mount::dataset {
namespace {

constexpr std::uint64_t kStripeBytes = 4U << 20;
// Of the row blocks of a dataset; the one that was used last is kept in any case.
constexpr std::uint64_t kKeptBytes = 256U << 20;

}  // namespace

// All spill files of the process. Together they take at most half of the space that was free; a new one
// replaces files that other datasets made earlier, so that a file with many such datasets cannot keep a disk
// full.
class SpillFiles {
 public:
  using Kept = SpilledRowBlocks::Kept;
  using Spilled = SpilledRowBlocks::Spilled;

  static SpillFiles& all() {
    static SpillFiles files;
    return files;
  }

  // Counts the bytes of a file to be made; returns false if there is no room for it. `free`: bytes that are
  // free in the file system.
  bool reserve(const std::shared_ptr<Kept>& among, const std::shared_ptr<Spilled>& spilled,
               std::uint64_t bytes, std::uint64_t free) {
    for (;;) {
      File oldest;
      {
        const MutexLock lock(mutex_);
        std::erase_if(files_, [](const File& file) { return file.spilled.expired(); });
        const std::uint64_t most = (free + held_) / 2;
        if (bytes <= most && held_ <= most - bytes) {
          held_ += bytes;
          files_.push_back({among, spilled});
          return true;
        }
        if (files_.empty()) return false;
        oldest = std::move(files_.front());
        files_.pop_front();
      }
      const auto kept = oldest.among.lock();
      const auto file = oldest.spilled.lock();
      if (kept && file) kept->drop(file);  // it is closed when its last reader is done
    }
  }
  void release(std::uint64_t bytes) {
    const MutexLock lock(mutex_);
    held_ -= bytes;
  }

 private:
  struct File {
    std::weak_ptr<Kept> among;
    std::weak_ptr<Spilled> spilled;
  };
  Mutex mutex_;
  std::uint64_t held_ H5_GUARDED_BY(mutex_) = 0;
  std::list<File> files_ H5_GUARDED_BY(mutex_);  // the oldest first
};

void SpilledRowBlocks::Kept::drop(const SpilledPtr& spilled) {
  const MutexLock lock(mutex);
  used_last.remove(spilled);
}

SpilledRowBlocks::Spilled::~Spilled() {
  file.reset();  // closed before its bytes count as free
  if (bytes > 0) SpillFiles::all().release(bytes);
}

SpilledRowBlocks::SpilledRowBlocks(ChunkedBlocksPtr blocks)
    : blocks_(std::move(blocks)),
      plan_(blocks_->plan()),
      stripe_rows_(std::max<std::uint64_t>(1, kStripeBytes / plan_.row_bytes())),
      chunk_row_bytes_(plan_.chunk_bytes() / plan_.rows_per_chunk()) {}

Result<SpilledRowBlocks::Stripe> SpilledRowBlocks::stripe_at(std::uint64_t offset,
                                                             RequestBudget& budget) const {
  const std::uint64_t row_block = plan_.row_block_at(offset);
  const std::uint64_t row_block_offset = plan_.row_block_offset(row_block);
  const std::uint64_t stripe = (offset - row_block_offset) / plan_.row_bytes() / stripe_rows_;
  const std::uint64_t first = stripe * stripe_rows_;
  const ChunkPlan::Rows rows{first, std::min(stripe_rows_, plan_.row_block_rows(row_block) - first)};
  const std::uint64_t stripes_per_row_block = divide_up(plan_.rows_per_chunk(), stripe_rows_);
  const cache::BlockKey key = blocks_->spill_key(row_block * stripes_per_row_block + stripe);
  const std::uint64_t stripe_offset = row_block_offset + first * plan_.row_bytes();
  if (cache::BlockPtr block = blocks_->cache()->peek(key)) return Stripe{std::move(block), stripe_offset};
  // Before a block is taken, as those who wait for the file would hold one each.
  H5_ASSIGN(const auto file, spilled(row_block, budget));
  H5_TRY(file->result);
  H5_ASSIGN(auto block, blocks_->cache()->get_or_load(
                            key, static_cast<std::size_t>(rows.count * plan_.row_bytes()),
                            [&](cache::Block& out) { return gather(*file, rows, out.bytes()); }, budget));
  return Stripe{std::move(block), stripe_offset};
}

std::uint64_t SpilledRowBlocks::row_block_bytes() const {
  return checked_mul(plan_.chunks_per_row_block(), plan_.chunk_bytes()).value_or(UINT64_MAX);
}

SpilledRowBlocks::SpilledPtr SpilledRowBlocks::find_or_add(std::uint64_t row_block, bool& added) const {
  std::list<SpilledPtr> dropped;  // closed without the lock
  const MutexLock lock(kept_->mutex);
  auto& all = kept_->used_last;
  const auto known = std::ranges::find(all, row_block, &Spilled::row_block);
  added = known == all.end();
  if (!added) {
    all.splice(all.begin(), all, known);
    return all.front();
  }
  all.push_front(std::make_shared<Spilled>(row_block));
  const std::uint64_t most = std::max<std::uint64_t>(1, kKeptBytes / row_block_bytes());
  while (all.size() > most) dropped.splice(dropped.end(), all, std::prev(all.end()));
  return all.front();
}

// The row block's complete file, made by the first caller while the others wait. If it failed only because of
// that caller's request, one of the others makes it.
Result<std::shared_ptr<const SpilledRowBlocks::Spilled>> SpilledRowBlocks::spilled(
    std::uint64_t row_block, RequestBudget& budget) const {
  bool mine = false;
  const SpilledPtr spilled = find_or_add(row_block, mine);
  if (!mine) {
    while (!spilled->done_soon()) H5_TRY(budget.check());  // which reads /proc, so not under a lock
    if (spilled->result || !concerns_one_request(spilled->result.error())) return spilled;
    return this->spilled(row_block, budget);
  }
  Making making{*kept_, spilled};  // releases the waiters even if something throws
  making.result = open_file(spilled);
  if (making.result) making.result = decode_to_file(*spilled, budget);
  return spilled;
}

bool SpilledRowBlocks::Spilled::done_soon() {
  constexpr std::chrono::milliseconds kLook{50};
  MutexLock lock(mutex);
  if (!done) ready.wait_for(lock, kLook);
  return done;
}

// What failed for a moment is made again by the next request.
SpilledRowBlocks::Making::~Making() {
  if (!result && is_passing(result.error())) kept.drop(spilled);
  const MutexLock lock(spilled->mutex);
  spilled->result = std::move(result);
  spilled->done = true;
  spilled->ready.notify_all();
}

Status SpilledRowBlocks::open_file(const SpilledPtr& spilled) const {
  H5_ASSIGN(spilled->file, TemporaryFile::make());
  const std::uint64_t needed = row_block_bytes();
  if (!SpillFiles::all().reserve(kept_, spilled, needed, spilled->file.free_bytes()))
    return fail(Error(ErrorCode::LimitExceeded,
                      "a row of chunks larger than cache_size needs a spill file, and " +
                          std::string(TemporaryFile::directory()) + " has not enough free space for it"));
  spilled->bytes = needed;
  log(LogLevel::Info,
      "a row of chunks of {} bytes is more than the cache holds: decoded once into a file in {}", needed,
      TemporaryFile::directory());
  return {};
}

Status SpilledRowBlocks::decode_to_file(Spilled& spilled, RequestBudget& budget) const {
  const ChunkStore& store = blocks_->store();
  const std::uint64_t first = spilled.row_block * plan_.chunks_per_row_block();
  const auto decode = [&](std::uint64_t i) -> Status {
    H5_TRY(budget.spend(plan_.chunk_bytes()));
    H5_ASSIGN(const chunk::ChunkRecord record, store.find(first + i));
    ChunkDecode work(store.source(), store.memory(true));
    const MutableByteSpan plain = work.plain(static_cast<std::size_t>(plan_.chunk_bytes()));
    H5_TRY(store.decode(first + i, record, plain, work));
    return spilled.file.write_at(plain, i * plan_.chunk_bytes());
  };
  store.will_read(first, plan_.chunks_per_row_block());
  Mutex mutex;
  Status failure;
  std::atomic<bool> failed{false};
  blocks_->workers()->for_each_index(static_cast<std::size_t>(plan_.chunks_per_row_block()),
                                     [&](std::size_t i) {
                                       if (failed.load(std::memory_order_relaxed)) return;
                                       Status decoded = decode(i);
                                       if (decoded) return;
                                       const MutexLock lock(mutex);
                                       if (!failed.exchange(true)) failure = std::move(decoded);
                                     });
  return failure;
}

Status SpilledRowBlocks::gather(const Spilled& spilled, ChunkPlan::Rows rows, MutableByteSpan out) const {
  Admission::Lease scratch(Admission::decodes(), {.owner = this});
  const std::uint64_t first_chunk = spilled.row_block * plan_.chunks_per_row_block();
  const std::uint64_t skipped = rows.first * chunk_row_bytes_;
  const MutableByteSpan part = scratch->plain(static_cast<std::size_t>(rows.count * chunk_row_bytes_));
  for (std::uint64_t i = 0; i < plan_.chunks_per_row_block(); ++i) {
    H5_TRY(spilled.file.read_at(part, i * plan_.chunk_bytes() + skipped));
    plan_.for_each_chunk_run(
        first_chunk + i, rows, [&](std::uint64_t from, std::uint64_t to, std::uint64_t n) {
          std::memcpy(out.data() + to, part.data() + (from - skipped), static_cast<std::size_t>(n));
        });
  }
  return {};
}

}  // namespace h5mount::dataset
