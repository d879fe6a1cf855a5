// Chunks are decoded whole, or in parts if their filter supports it; decoded chunks are cached unchanged.
#include <array>
#include <atomic>
#include <unordered_map>

#include "chunk_units.h"
#include "read_strategy.h"

namespace h5mount::dataset {
namespace {

constexpr std::uint64_t kPartialVisits = 3;  // visits to a chunk before it is decoded whole
constexpr std::uint64_t kWorthFindingAbsent =
    1U << 20;  // absent chunks from this size on are not made into blocks

// The range [begin, end) of a decoded chunk that contains all bytes that a request needs.
struct WantedPart {
  std::uint64_t chunk, begin, end;
};

class ChunkStrategy final : public ReadStrategy,
                            public ChunkUnits,
                            public std::enable_shared_from_this<ChunkStrategy> {
 public:
  explicit ChunkStrategy(ChunkedBlocksPtr blocks)
      : ChunkUnits(std::move(blocks)),
        readahead_(blocks_->cache(), blocks_->workers(), blocks_->counters(),
                   blocks_->plan().full_row_block_bytes(), blocks_->plan().row_block_count(),
                   blocks_->store().most_announced(1)) {}

  Status read(std::uint64_t offset, std::uint64_t length, Pieces& out, RequestBudget& budget) const override;

  // If chunks are consecutive in the image, each is a unit of read-ahead.
  void reader_advanced(std::uint64_t, std::uint64_t end, ReadPattern& pattern) const override {
    const ChunkPlan& plan = blocks_->plan();
    if (plan.linear()) readahead_.advance(shared_from_this(), plan.row_block_at(end - 1), pattern);
  }
  std::uint64_t unit_end(std::uint64_t chunk) const override {
    return blocks_->plan().row_block_offset(chunk + 1);
  }

 private:
  using Part = ChunkStore::Part;

  Result<Part> load(const WantedPart& wanted, RequestBudget& budget) const;
  Result<Part> sound_part(const WantedPart& wanted, const Error& damage, RequestBudget& budget) const;
  void load_all(const std::vector<WantedPart>& chunks, std::vector<Result<Part>>& parts,
                RequestBudget& budget) const;
  bool decode_in_parts(std::uint64_t chunk) const;

  Readahead readahead_;
  // How often chunks were decoded in parts, in a table by chunk number: an entry is the upper part of the
  // number and a count of 8 bits.
  mutable std::array<std::atomic<std::uint64_t>, 256> visits_{};
};

// A chunk that its filter divides into blocks is decoded in parts at its first visits: a reader of one row
// pays for one row. A reader that returns pays once for the whole chunk.
bool ChunkStrategy::decode_in_parts(std::uint64_t chunk) const {
  constexpr std::uint64_t kCountMask = 0xFF;
  if (!blocks_->store().may_decode_partially()) return false;
  auto& slot = visits_[chunk % visits_.size()];
  const std::uint64_t tag = chunk / visits_.size() << 8 & ~kCountMask;
  std::uint64_t now = slot.load(std::memory_order_relaxed);
  if ((now & ~kCountMask) != tag) now = tag;
  if ((now & kCountMask) >= kPartialVisits) return false;
  slot.store(now + 1, std::memory_order_relaxed);
  return true;
}

// Decodes the wanted part alone if the whole chunk could not be decoded. Whether a part can be read must not
// depend on how often the chunk was read before.
Result<ChunkStore::Part> ChunkStrategy::sound_part(const WantedPart& wanted, const Error& damage,
                                                   RequestBudget& budget) const {
  const ChunkStore& store = blocks_->store();
  if (!store.may_decode_partially() || !is_about_bytes(damage.code())) return fail(damage);
  H5_TRY(budget.spend(wanted.end - wanted.begin));
  H5_ASSIGN(const chunk::ChunkRecord record, store.find(wanted.chunk));
  ChunkDecode work(store.source(), store.memory(false));
  auto part = store.decode_part(wanted.chunk, record, wanted.begin, wanted.end, work);
  if (!part || !part->block) return fail(damage);
  return part;
}

// The result for an absent chunk is a part without a block: nothing is allocated, and fill values are
// appended.
Result<ChunkStore::Part> ChunkStrategy::load(const WantedPart& wanted, RequestBudget& budget) const {
  const ChunkStore& store = blocks_->store();
  const bool large = blocks_->plan().chunk_bytes() >= kWorthFindingAbsent;
  if ((large || store.may_decode_partially()) &&
      !blocks_->cache()->contains_or_pending(blocks_->chunk_key(wanted.chunk))) {
    H5_ASSIGN(const chunk::ChunkRecord record, store.find(wanted.chunk));
    if (large && !record.allocated()) return Part{};
    if (decode_in_parts(wanted.chunk)) {
      ChunkDecode work(store.source(), store.memory(false));
      H5_ASSIGN(auto part, store.decode_part(wanted.chunk, record, wanted.begin, wanted.end, work));
      if (part.block) return part;
    }
  }
  auto block = blocks_->chunk_block(wanted.chunk, budget);
  if (!block) return sound_part(wanted, block.error(), budget);
  return Part{*std::move(block), 0};
}

// Chunks that are in the cache are taken in this thread: a reader down a column of tiles finds those of its
// last rows there.
void ChunkStrategy::load_all(const std::vector<WantedPart>& chunks, std::vector<Result<Part>>& parts,
                             RequestBudget& budget) const {
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (blocks_->cache()->peek(blocks_->chunk_key(chunks[i].chunk)))
      parts[i] = load(chunks[i], budget);
    else
      missing.push_back(i);
  }
  // A far source is asked for all chunks before the first of them is waited for.
  if (blocks_->store().far()) {
    std::vector<std::uint64_t> numbers;
    for (const std::size_t i : missing) numbers.push_back(chunks[i].chunk);
    blocks_->store().will_read_some(std::move(numbers));
  }
  if (missing.size() == 1)
    parts[missing[0]] = load(chunks[missing[0]], budget);
  else
    blocks_->workers()->for_each_index(
        missing.size(), [&](std::size_t i) { parts[missing[i]] = load(chunks[missing[i]], budget); });
}

Status ChunkStrategy::read(std::uint64_t offset, std::uint64_t length, Pieces& out,
                           RequestBudget& budget) const {
  struct Run {
    std::size_t slot;
    std::uint64_t at, bytes;
  };
  std::vector<Run> runs;
  std::unordered_map<std::uint64_t, std::size_t> slots;
  std::vector<WantedPart> chunks;
  blocks_->plan().for_each_image_run(offset, length,
                                     [&](std::uint64_t chunk, std::uint64_t at, std::uint64_t bytes) {
                                       const auto [slot, fresh] = slots.try_emplace(chunk, chunks.size());
                                       if (fresh) chunks.push_back({chunk, at, at + bytes});
                                       WantedPart& wanted = chunks[slot->second];
                                       wanted.begin = std::min(wanted.begin, at);
                                       wanted.end = std::max(wanted.end, at + bytes);
                                       runs.push_back({slot->second, at, bytes});
                                       return true;
                                     });
  std::vector<Result<Part>> parts(chunks.size(), Result<Part>());
  load_all(chunks, parts, budget);
  for (const auto& part : parts)
    if (!part) return fail(part.error());
  for (const Run& run : runs) {
    const Part& part = *parts[run.slot];
    const auto at = static_cast<std::size_t>(run.at - part.begin);
    if (part.block)
      out.add(part.block->bytes().subspan(at, static_cast<std::size_t>(run.bytes)), part.block);
    else
      blocks_->store().fill().append(offset, run.bytes, out);
    offset += run.bytes;
  }
  return {};
}

}  // namespace

ReadStrategyPtr make_chunk_strategy(ChunkedBlocksPtr blocks) {
  return std::make_shared<const ChunkStrategy>(std::move(blocks));
}

}  // namespace h5mount::dataset
