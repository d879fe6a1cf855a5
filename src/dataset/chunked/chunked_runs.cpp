// Reads many short runs of a chunked dataset's image: all workers decode each chunk that the runs touch,
// once; or parts of the chunk are read, if it is stored unfiltered and few of its bytes are needed.
#include <cstring>
#include <optional>
#include <unordered_map>

#include "chunked_reader.h"
#include "h5mount/base/momentary.h"

namespace h5mount::dataset {
namespace {

// A read of a few bytes costs as much as copying this many out of the system's cache.
constexpr std::uint64_t kBytesPerRead = 8U << 10;
// The largest span read at once, gaps between copies included: small enough for a processor's cache.
constexpr std::uint64_t kSpanBytes = 64U << 10;
// A copy of fewer bytes ends before a worker has woken up.
constexpr std::uint64_t kNoWorkers = 2U << 20;
// Absent chunks from this size on are not made into blocks of fill values.
constexpr std::uint64_t kWithoutRowBlock = 1U << 20;

struct Copy {
  std::uint64_t in_chunk;
  std::uint64_t in_reply;
  std::uint64_t bytes;
};
struct WantedChunk {
  std::uint64_t chunk = 0;
  std::vector<Copy> copies = {};
};

class WantedChunks {
 public:
  explicit WantedChunks(const ChunkPlan& plan) : plan_(plan) {}

  // Adds a run, which is appended to the reply.
  void add(const ByteRun& run) {
    const std::uint64_t distance = run.offset - before_.offset;
    if (steps_.count > 0 && distance == distance_ && run.bytes == before_.bytes) {
      --steps_.count;
      append(last_in_chunk_ + steps_.in_chunk, run.bytes);
    } else {
      std::size_t pieces = 0;
      plan_.for_each_image_run(run.offset, run.bytes,
                               [&](std::uint64_t chunk, std::uint64_t at, std::uint64_t bytes) {
                                 choose(chunk);
                                 append(at, bytes);
                                 ++pieces;
                                 return true;
                               });
      // The places of runs that follow in regular steps, as those of a column, are found without a division.
      const bool regular = pieces == 1 && distance == distance_ && run.bytes == before_.bytes;
      steps_ =
          regular ? plan_.steps_from(run.offset, last_in_chunk_, run.bytes, distance) : ChunkPlan::Steps();
      distance_ = distance;
    }
    before_ = run;
  }

  std::vector<WantedChunk>& chunks() { return wanted_; }

 private:
  void choose(std::uint64_t chunk) {
    if (!wanted_.empty() && wanted_[slot_].chunk == chunk) return;
    const auto [found, fresh] = slots_.try_emplace(chunk, wanted_.size());
    if (fresh) wanted_.push_back({chunk});
    slot_ = found->second;
  }

  void append(std::uint64_t at, std::uint64_t bytes) {
    std::vector<Copy>& copies = wanted_[slot_].copies;
    const bool continues = !copies.empty() && copies.back().in_chunk + copies.back().bytes == at &&
                           copies.back().in_reply + copies.back().bytes == in_reply_;
    if (continues)
      copies.back().bytes += bytes;
    else
      copies.push_back({at, in_reply_, bytes});
    in_reply_ += bytes;
    last_in_chunk_ = at;
  }

  const ChunkPlan& plan_;
  std::vector<WantedChunk> wanted_;
  std::unordered_map<std::uint64_t, std::size_t> slots_;  // indexes into `wanted_` by chunk
  std::size_t slot_ = 0;                                  // index of the last chunk
  std::uint64_t in_reply_ = 0, last_in_chunk_ = 0;
  ByteRun before_ = {};
  std::uint64_t distance_ = 0;  // bytes from the run before the last one to the last one
  ChunkPlan::Steps steps_;      // steps that are still to come
};

// Copies from a chunk that is stored unfiltered; `address` is the chunk's.
class PlainCopies {
 public:
  PlainCopies(const ChunkStore& store, std::uint64_t address, const std::vector<Copy>& copies,
              MutableByteSpan out)
      : store_(store), source_(store.source()), address_(address), copies_(copies), out_(out) {}

  Status run() {
    for (std::size_t first = 0; first < copies_.size();) {
      std::size_t last = first + 1;
      const std::uint64_t begin = copies_[first].in_chunk;
      while (last < copies_.size() && copies_[last].in_chunk >= end_of(last - 1) &&
             copies_[last].in_chunk + copies_[last].bytes - begin <= kSpanBytes)
        ++last;
      H5_TRY(copy(first, last));
      first = last;
    }
    return {};
  }

 private:
  std::uint64_t end_of(std::size_t i) const { return copies_[i].in_chunk + copies_[i].bytes; }
  MutableByteSpan place(const Copy& copy) const {
    return out_.subspan(static_cast<std::size_t>(copy.in_reply), static_cast<std::size_t>(copy.bytes));
  }

  // Makes the copies within one span of the chunk: each by a read of its own, or all from the whole span.
  Status copy(std::size_t first, std::size_t last) {
    const std::uint64_t begin = copies_[first].in_chunk, bytes = end_of(last - 1) - begin;
    if ((last - first) * kBytesPerRead <= bytes || last - first == 1) {
      for (std::size_t i = first; i < last; ++i)
        H5_TRY(noted_read(source_.read_at(address_ + copies_[i].in_chunk, place(copies_[i]))));
      return {};
    }
    if (!work_) work_.emplace(source_, DecodeMemory{.bytes = kSpanBytes, .owner = &store_});
    H5_ASSIGN(const ByteSpan span, work_->fetch(address_ + begin, static_cast<std::size_t>(bytes)));
    for (std::size_t i = first; i < last; ++i)
      std::memcpy(place(copies_[i]).data(), span.data() + (copies_[i].in_chunk - begin), copies_[i].bytes);
    return {};
  }

  const ChunkStore& store_;
  const io::ByteSource& source_;
  std::uint64_t address_;
  const std::vector<Copy>& copies_;
  MutableByteSpan out_;
  std::optional<ChunkDecode> work_;  // made at the first span
};

Status copy_parts(const ChunkStore& store, const WantedChunk& wanted, const chunk::ChunkRecord& record,
                  MutableByteSpan out) {
  if (Status read = PlainCopies(store, record.address, wanted.copies, out).run(); !read)
    return fail(store.located(read.error(), wanted.chunk, &record));
  return {};
}

void fill_parts(const FillPattern& fill, const WantedChunk& wanted, MutableByteSpan out) {
  for (const Copy& copy : wanted.copies)
    fill.write(copy.in_chunk,
               out.subspan(static_cast<std::size_t>(copy.in_reply), static_cast<std::size_t>(copy.bytes)));
}

// The sum over all chunks of the bytes from the first to the last one needed.
std::uint64_t spanned_bytes(const std::vector<WantedChunk>& wanted) {
  std::uint64_t bytes = 0;
  for (const WantedChunk& chunk : wanted) {
    std::uint64_t begin = format::kUnlimited, end = 0;
    for (const Copy& copy : chunk.copies) {
      begin = std::min(begin, copy.in_chunk);
      end = std::max(end, copy.in_chunk + copy.bytes);
    }
    bytes += end - begin;
  }
  return bytes;
}

// In a followed file every block goes through the cache, which records the blocks that may still change.
Status copy_chunk(const ChunkedBlocks& blocks, const WantedChunk& wanted, MutableByteSpan out,
                  RequestBudget& budget) {
  H5_TRY(budget.spend(limits::kStepsPerIndexedChunk));
  const ChunkStore& store = blocks.store();
  const std::uint64_t chunk_bytes = blocks.plan().chunk_bytes();
  if ((!store.filtered() || chunk_bytes >= kWithoutRowBlock) && blocks.growth() == nullptr &&
      !blocks.cache()->contains_or_pending(blocks.chunk_key(wanted.chunk))) {
    H5_ASSIGN(const chunk::ChunkRecord record, store.find(wanted.chunk));
    if (!record.allocated()) return fill_parts(store.fill(), wanted, out), Status();
    if (!store.filtered() && record.stored_size == chunk_bytes) return copy_parts(store, wanted, record, out);
  }
  H5_ASSIGN(const cache::BlockPtr block, blocks.chunk_block(wanted.chunk, budget));
  for (const Copy& copy : wanted.copies)
    std::memcpy(out.data() + copy.in_reply, block->bytes().data() + copy.in_chunk, copy.bytes);
  return {};
}

}  // namespace

Status ChunkedReader::read_runs(std::span<const ByteRun> runs, MutableByteSpan out,
                                RequestBudget& budget) const {
  if (runs.size() == 1) return read_into(runs[0].offset, out, budget);
  if (blocks_->store().unallocated()) return DatasetReader::read_runs(runs, out, budget);
  WantedChunks collected(blocks_->plan());
  for (const ByteRun& run : runs) collected.add(run);
  const std::vector<WantedChunk>& wanted = collected.chunks();
  if (!blocks_->store().filtered() && spanned_bytes(wanted) <= kNoWorkers) {
    for (const WantedChunk& chunk : wanted) H5_TRY(copy_chunk(*blocks_, chunk, out, budget));
    return {};
  }
  if (blocks_->store().far()) {
    std::vector<std::uint64_t> chunks;
    for (const WantedChunk& chunk : wanted) chunks.push_back(chunk.chunk);
    blocks_->store().will_read_some(std::move(chunks));
  }
  return blocks_->run_jobs(wanted.size(),
                           [&](std::uint64_t i) { return copy_chunk(*blocks_, wanted[i], out, budget); });
}

}  // namespace h5mount::dataset
