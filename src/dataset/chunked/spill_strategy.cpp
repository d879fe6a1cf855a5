// Row blocks that the cache cannot hold (chunks long in the slow dimension), and single chunks larger than
// the cache. Decoding them again for every row would turn minutes into days, so each chunk of the row block
// is decoded once into an unlinked temporary file, chunk after chunk as it comes out of the filters, and rows
// are gathered from it a stripe at a time. (Image order in the file would need one small write a row and
// chunk; in chunk order both sides move tens of KiB at once.)
//
//   spill file   |chunk 0 rows 0..n|chunk 1 rows 0..n| ...     stripe k = rows [k h, k h + h) of every chunk,
//                   ^^^ stripe k      ^^^ stripe k             gathered into image order, cached as a block
//
// The row blocks that were used last are kept per dataset: several readers may be at work on it. All spill
// files together take at most half of the free space of the directory where they lie ($TMPDIR, else
// /var/tmp).
#include <list>

#include "h5mount/base/log.h"
#include "h5mount/base/once_value.h"
#include "h5mount/base/temporary_file.h"
#include "read_strategy.h"

namespace h5mount::dataset {
namespace {

constexpr std::uint64_t kStripeBytes = 4U << 20;
// The bytes of a dataset's row blocks; the one that was used last is kept in any case.
constexpr std::uint64_t kHeldBytes = 256U << 20;

// A row block, decoded to a file of its own, which its readers hold.
struct SpillFile {
  SpillFile() = default;
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  std::uint64_t bytes = 0;  // counted in the bound on all spill files
  TemporaryFile file;
};
using SpillFilePtr = std::shared_ptr<const SpillFile>;

struct SpilledRowBlock {
  explicit SpilledRowBlock(std::uint64_t row_block) : number(row_block) {}
  struct Made {
    SpillFilePtr file;
    std::optional<Error> failure;  // of the chunks' bytes
  };
  const std::uint64_t number;
  OnceValue<Made> made;
};
using SpilledRowBlockPtr = std::shared_ptr<SpilledRowBlock>;

// The row blocks of a dataset. A file that another dataset makes may take the place of one
// (SpillFiles::reserve).
struct SpilledRowBlocks {
  Mutex mutex;
  std::list<SpilledRowBlockPtr> used_last H5_GUARDED_BY(mutex);  // the newest first

  void drop(const SpilledRowBlockPtr& block) {
    const MutexLock lock(mutex);
    used_last.remove(block);
  }
};

// All spill files of the process. Together they take at most half of the space that was free; a new one
// replaces files that other datasets made earlier, so that a file with many such datasets cannot keep a disk
// full.
class SpillFiles {
 public:
  static SpillFiles& all() {
    static SpillFiles files;
    return files;
  }

  // Counts the bytes of a file to be made; returns false if there is no room for it. `free`: bytes that are
  // free in the file system.
  bool reserve(const std::shared_ptr<SpilledRowBlocks>& among, const SpilledRowBlockPtr& block,
               const SpillFilePtr& file, std::uint64_t bytes, std::uint64_t free) {
    for (;;) {
      File oldest;
      {
        const MutexLock lock(mutex_);
        std::erase_if(files_, [](const File& one) { return one.file.expired(); });
        const std::uint64_t most = (free + held_) / 2;
        if (bytes <= most && held_ <= most - bytes) {
          held_ += bytes;
          files_.push_back({among, block, file});
          return true;
        }
        if (files_.empty()) return false;
        oldest = std::move(files_.front());
        files_.pop_front();
      }
      const auto others = oldest.among.lock();
      const auto other = oldest.block.lock();
      if (others && other) others->drop(other);  // it is closed when its last reader is done
    }
  }
  void release(std::uint64_t bytes) {
    const MutexLock lock(mutex_);
    held_ -= bytes;
  }

 private:
  struct File {
    std::weak_ptr<SpilledRowBlocks> among;
    std::weak_ptr<SpilledRowBlock> block;
    std::weak_ptr<const SpillFile> file;
  };
  Mutex mutex_;
  std::uint64_t held_ H5_GUARDED_BY(mutex_) = 0;
  std::list<File> files_ H5_GUARDED_BY(mutex_);  // the oldest first
};

SpillFile::~SpillFile() {
  file.reset();  // closed before its bytes count as free
  if (bytes > 0) SpillFiles::all().release(bytes);
}

class SpillStrategy final : public ReadStrategy {
 public:
  explicit SpillStrategy(ChunkedBlocksPtr blocks)
      : blocks_(std::move(blocks)),
        plan_(blocks_->plan()),
        stripe_rows_(std::max<std::uint64_t>(1, kStripeBytes / plan_.row_bytes())),
        chunk_row_bytes_(plan_.chunk_bytes() / plan_.rows_per_chunk()) {}

  Status read(std::uint64_t offset, std::uint64_t length, Pieces& out, RequestBudget& budget) const override {
    if (blocks_->growth() != nullptr) {
      // Records which row blocks are published.
      const std::uint64_t last = plan_.row_block_at(offset + length - 1);
      for (std::uint64_t row_block = plan_.row_block_at(offset); row_block <= last; ++row_block)
        (void)blocks_->stripe_key(BlockKind::SpillStripe, row_block, row_block, row_block + 1);
    }
    while (length > 0) {
      H5_ASSIGN(const Stripe stripe, stripe_at(offset, budget));
      const auto at = static_cast<std::size_t>(offset - stripe.offset);
      const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(length, stripe.block->size() - at));
      out.add(stripe.block->bytes().subspan(at, n), stripe.block);
      offset += n;
      length -= n;
    }
    return {};
  }
  bool decodes_neighbours() const override { return true; }

 private:
  struct Stripe {
    cache::BlockPtr block;
    std::uint64_t offset = 0;  // image offset of its first byte
  };
  Result<Stripe> stripe_at(std::uint64_t offset, RequestBudget& budget) const;
  SpilledRowBlockPtr find_or_add(std::uint64_t number) const;
  std::uint64_t row_block_bytes() const {
    return checked_mul(plan_.chunks_per_row_block(), plan_.chunk_bytes()).value_or(UINT64_MAX);
  }
  Result<SpilledRowBlock::Made> spill(const SpilledRowBlockPtr& block, RequestBudget& budget) const;
  Status decode_to_file(std::uint64_t row_block, const TemporaryFile& file, RequestBudget& budget) const;
  Status gather(std::uint64_t row_block, const TemporaryFile& file, ChunkPlan::Rows rows,
                MutableByteSpan out) const;

  ChunkedBlocksPtr blocks_;
  const ChunkPlan& plan_;
  std::uint64_t stripe_rows_;
  std::uint64_t chunk_row_bytes_;
  const std::shared_ptr<SpilledRowBlocks> spilled_ = std::make_shared<SpilledRowBlocks>();
};

// The stripe that contains an image offset; the first call for a row block decodes all of it. Errors: those
// of decoding, LimitExceeded if there is not enough free space.
Result<SpillStrategy::Stripe> SpillStrategy::stripe_at(std::uint64_t offset, RequestBudget& budget) const {
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
  const SpilledRowBlockPtr spilled = find_or_add(row_block);
  H5_ASSIGN(const auto made, spilled->made.get([&] { return spill(spilled, budget); }, budget));
  if (made.failure) return fail(*made.failure);
  H5_ASSIGN(
      auto block,
      blocks_->cache()->get_or_load(
          key, static_cast<std::size_t>(rows.count * plan_.row_bytes()),
          [&](cache::Block& out) { return gather(row_block, made.file->file, rows, out.bytes()); }, budget));
  return Stripe{std::move(block), stripe_offset};
}

SpilledRowBlockPtr SpillStrategy::find_or_add(std::uint64_t number) const {
  std::list<SpilledRowBlockPtr> dropped;  // closed without the lock
  const MutexLock lock(spilled_->mutex);
  auto& all = spilled_->used_last;
  const auto known = std::ranges::find(all, number, &SpilledRowBlock::number);
  if (known != all.end()) {
    all.splice(all.begin(), all, known);
    return all.front();
  }
  all.push_front(std::make_shared<SpilledRowBlock>(number));
  const std::uint64_t most = std::max<std::uint64_t>(1, kHeldBytes / row_block_bytes());
  while (all.size() > most) dropped.splice(dropped.end(), all, std::prev(all.end()));
  return all.front();
}

// An error that says nothing of the bytes is the caller's alone: the next request tries again.
Result<SpilledRowBlock::Made> SpillStrategy::spill(const SpilledRowBlockPtr& block,
                                                   RequestBudget& budget) const {
  auto made = std::make_shared<SpillFile>();
  H5_ASSIGN(made->file, TemporaryFile::make());
  const std::uint64_t needed = row_block_bytes();
  if (!SpillFiles::all().reserve(spilled_, block, made, needed, made->file.free_bytes()))
    return fail(Error(ErrorCode::LimitExceeded,
                      "a row of chunks larger than cache_size needs a spill file, and " +
                          std::string(TemporaryFile::directory()) + " has not enough free space for it"));
  made->bytes = needed;
  log(LogLevel::Info,
      "a row of chunks of {} bytes is more than the cache holds: decoded once into a file in {}", needed,
      TemporaryFile::directory());
  const Status decoded = decode_to_file(block->number, made->file, budget);
  if (decoded) return SpilledRowBlock::Made{std::move(made), {}};
  if (is_passing(decoded.error())) return fail(decoded.error());
  return SpilledRowBlock::Made{nullptr, decoded.error()};
}

Status SpillStrategy::decode_to_file(std::uint64_t row_block, const TemporaryFile& file,
                                     RequestBudget& budget) const {
  const ChunkStore& store = blocks_->store();
  const std::uint64_t first = row_block * plan_.chunks_per_row_block();
  store.will_read(first, plan_.chunks_per_row_block());
  return blocks_->run_jobs(plan_.chunks_per_row_block(), [&](std::uint64_t i) -> Status {
    H5_TRY(budget.spend(plan_.chunk_bytes()));
    H5_ASSIGN(const chunk::ChunkRecord record, store.find(first + i));
    ChunkDecode work(store.source(), store.memory(true));
    const MutableByteSpan plain = work.plain(static_cast<std::size_t>(plan_.chunk_bytes()));
    H5_TRY(store.decode(first + i, record, plain, work));
    return file.write_at(plain, i * plan_.chunk_bytes());
  });
}

Status SpillStrategy::gather(std::uint64_t row_block, const TemporaryFile& file, ChunkPlan::Rows rows,
                             MutableByteSpan out) const {
  Admission::Lease scratch(Admission::decodes(), {.owner = this});
  const std::uint64_t first_chunk = row_block * plan_.chunks_per_row_block();
  const std::uint64_t skipped = rows.first * chunk_row_bytes_;
  const MutableByteSpan part = scratch->plain(static_cast<std::size_t>(rows.count * chunk_row_bytes_));
  for (std::uint64_t i = 0; i < plan_.chunks_per_row_block(); ++i) {
    H5_TRY(file.read_at(part, i * plan_.chunk_bytes() + skipped));
    plan_.for_each_chunk_run(
        first_chunk + i, rows, [&](std::uint64_t from, std::uint64_t to, std::uint64_t n) {
          std::memcpy(out.data() + to, part.data() + (from - skipped), static_cast<std::size_t>(n));
        });
  }
  return {};
}

}  // namespace

ReadStrategyPtr make_spill_strategy(ChunkedBlocksPtr blocks) {
  return std::make_shared<const SpillStrategy>(std::move(blocks));
}

}  // namespace h5mount::dataset
