// Many short runs of a chunked dataset's image: each chunk that they touch is decoded once, by all workers,
// or, where it is stored as it is and little of it is wanted, read in parts.
#include <cstring>
#include <unordered_map>

#include "chunked_reader.h"

namespace h5mount::dataset {
namespace {

// A read of a few bytes costs as much as copying so many out of the system's cache.
constexpr std::uint64_t kBytesPerRead = 8U << 10;
// Absent chunks of this size are not made a block of fill values.
constexpr std::uint64_t kLargeChunk = 1U << 20;

struct Copy {
  std::uint64_t in_chunk;
  std::uint64_t in_reply;
  std::uint64_t bytes;
};
struct WantedChunk {
  std::uint64_t chunk = 0;
  std::vector<Copy> copies = {};
};

std::vector<WantedChunk> chunks_of(const ChunkPlan& plan, std::span<const ByteRun> runs) {
  std::vector<WantedChunk> wanted;
  std::unordered_map<std::uint64_t, std::size_t> slots;
  std::uint64_t in_reply = 0;
  std::size_t slot = 0;
  for (const ByteRun& run : runs) {
    const auto note = [&](std::uint64_t chunk, std::uint64_t at, std::uint64_t bytes) {
      if (wanted.empty() || wanted[slot].chunk != chunk) {
        const auto [found, fresh] = slots.try_emplace(chunk, wanted.size());
        if (fresh) wanted.push_back({chunk});
        slot = found->second;
      }
      std::vector<Copy>& copies = wanted[slot].copies;
      const bool continues = !copies.empty() && copies.back().in_chunk + copies.back().bytes == at &&
                             copies.back().in_reply + copies.back().bytes == in_reply;
      if (continues)
        copies.back().bytes += bytes;
      else
        copies.push_back({at, in_reply, bytes});
      in_reply += bytes;
      return true;
    };
    plan.for_each_image_run(run.offset, run.bytes, note);
  }
  return wanted;
}

Status copy_parts(const ChunkStore& store, const WantedChunk& wanted, const chunk::ChunkRecord& record,
                  MutableByteSpan out) {
  for (const Copy& copy : wanted.copies) {
    const MutableByteSpan to =
        out.subspan(static_cast<std::size_t>(copy.in_reply), static_cast<std::size_t>(copy.bytes));
    if (Status read = store.source().read_at(record.address + copy.in_chunk, to); !read)
      return fail(store.located(read.error(), wanted.chunk, &record));
  }
  return {};
}

void fill_parts(const FillPattern& fill, const WantedChunk& wanted, MutableByteSpan out) {
  for (const Copy& copy : wanted.copies)
    fill.write(copy.in_chunk,
               out.subspan(static_cast<std::size_t>(copy.in_reply), static_cast<std::size_t>(copy.bytes)));
}

// In a file that is followed every block goes through the cache, which notes what may yet change.
Status copy_chunk(const ChunkedBlocks& blocks, const WantedChunk& wanted, MutableByteSpan out) {
  const ChunkStore& store = blocks.store();
  const std::uint64_t chunk_bytes = blocks.plan().chunk_bytes();
  const bool few = !store.filtered() && wanted.copies.size() * kBytesPerRead < chunk_bytes;
  if ((few || chunk_bytes >= kLargeChunk) && blocks.growth() == nullptr &&
      !blocks.cache()->contains_or_pending(blocks.chunk_key(wanted.chunk))) {
    H5_ASSIGN(const chunk::ChunkRecord record, store.find(wanted.chunk));
    if (!record.allocated()) return fill_parts(store.fill(), wanted, out), Status();
    if (few && record.stored_size == chunk_bytes) return copy_parts(store, wanted, record, out);
  }
  H5_ASSIGN(const cache::BlockPtr block, blocks.chunk_block(wanted.chunk));
  for (const Copy& copy : wanted.copies)
    std::memcpy(out.data() + copy.in_reply, block->bytes().data() + copy.in_chunk, copy.bytes);
  return {};
}

}  // namespace

Status ChunkedReader::read_runs(std::span<const ByteRun> runs, MutableByteSpan out) const {
  if (runs.size() == 1) return read_into(runs[0].offset, out);
  if (blocks_->store().unallocated()) return DatasetReader::read_runs(runs, out);
  const std::vector<WantedChunk> wanted = chunks_of(blocks_->plan(), runs);
  std::vector<Status> done(wanted.size());
  blocks_->workers()->for_each_index(wanted.size(),
                                     [&](std::size_t i) { done[i] = copy_chunk(*blocks_, wanted[i], out); });
  for (Status& status : done) H5_TRY(std::move(status));
  return {};
}

}  // namespace h5mount::dataset
