// ChunkStore: a chunked dataset's chunks by row-major number: finds their records, reads and decodes their
// bytes. No cache. Threads: any.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "../core/fill_pattern.h"
#include "chunk_decode.h"
#include "chunk_plan.h"
#include "h5mount/base/counters.h"
#include "h5mount/cache/block_cache.h"
#include "h5mount/filter/filter.h"
#include "h5mount/object/file_set.h"
#include "h5mount/object/object.h"

namespace h5mount::dataset {

class ChunkStore {
 public:
  static Result<std::unique_ptr<ChunkStore>> open(const object::OpenedFilePtr& file,
                                                  const object::DatasetDescription& description,
                                                  const chunk::ChunkGeometry& geometry,
                                                  std::size_t cache_bytes,
                                                  std::shared_ptr<Counters> counters);

  const ChunkPlan& plan() const { return plan_; }
  const FillPattern& fill() const { return fill_; }
  bool filtered() const { return !pipeline_->empty(); }
  bool unallocated() const { return unallocated_; }
  // The memory that decoding a chunk needs, for its place: stored bytes, buffers between filters, and the
  // decoded chunk if `aside`; otherwise the caller has memory for it.
  DecodeMemory memory(bool aside) const;
  // Fails with TooMuchMemory if decoding a chunk takes more than may be taken. `record` is for the error
  // only.
  Status check_memory(std::uint64_t chunk, const chunk::ChunkRecord& record) const;
  // The error for a filter that is not available, if every stored chunk needs such a one. Filters that are
  // optional may be skipped by all chunks.
  std::optional<Error> problem() const;

  Result<chunk::ChunkRecord> find(std::uint64_t chunk) const;
  // Records of the chunks first, first + 1, …
  Status find_run(std::uint64_t first, std::span<chunk::ChunkRecord> out) const;
  const chunk::ChunkIndex& index() const { return *index_; }

  // Decodes the whole chunk to exactly chunk_bytes at `out`; an absent chunk is the fill value.
  Status decode(std::uint64_t chunk, const chunk::ChunkRecord& record, MutableByteSpan out,
                ChunkDecode& work) const;

  // A run of a chunk's decoded bytes that contains [begin, end), if the chunk's filter supports blocks
  // (Blosc2) and at most half of the chunk's blocks need decoding. The result's block holds the chunk's bytes
  // [Part::begin, Part::begin + size). It is null if the chunk has to be decoded whole.
  struct Part {
    cache::BlockPtr block;
    std::uint64_t begin = 0;
  };
  Result<Part> decode_part(std::uint64_t chunk, const chunk::ChunkRecord& record, std::uint64_t begin,
                           std::uint64_t end, ChunkDecode& work) const;
  bool may_decode_partially() const { return pipeline_->may_decode_partially(); }

  // Decodes several chunks in order; chunks that lie together in the file are read at once. `into(i)` returns
  // the memory for chunk first + i (chunk_bytes), or an empty span to decode into scratch memory; `done(i,
  // bytes)` receives the decoded bytes (empty if the chunk is absent and reads as fill values).
  template <class Into, class Done>
  Status decode_run(std::uint64_t first, std::span<const chunk::ChunkRecord> records, ChunkDecode& work,
                    Into into, Done done) const;

  // Tells a far source which chunks will be decoded soon; does nothing for others. Returns their stored
  // bytes.
  std::uint64_t will_read(std::span<const chunk::ChunkRecord> records) const;
  // The same for the chunks first, first + 1, …, at most kMaxAnnounced of them: looks up their records.
  std::uint64_t will_read(std::uint64_t first, std::uint64_t count) const;
  static constexpr std::uint64_t kMaxAnnounced = 1U << 16;
  // The same for some chunks, in any order.
  void will_read_some(std::vector<std::uint64_t> chunks) const;
  // How many units of so many chunks may be told at once; 0: the source is not far.
  std::uint64_t most_announced(std::uint64_t chunks_of_unit) const {
    return far() ? std::max<std::uint64_t>(1, kMaxAnnounced / std::max<std::uint64_t>(1, chunks_of_unit)) : 0;
  }
  bool far() const { return source_->far(); }

  // True if the stored bytes are the decoded ones: chunk_bytes at record.address of `source`.
  bool stored_plain(std::uint64_t chunk, const chunk::ChunkRecord& record) const;
  const io::ByteSource& source() const { return *source_; }
  const std::shared_ptr<io::ByteSource>& shared_source() const { return source_; }
  // Appends stored bytes of a chunk: the file's own pages if they are mapped.
  Status append_stored(std::uint64_t chunk, const chunk::ChunkRecord& record, std::uint64_t offset,
                       std::uint64_t length, Pieces& out) const;
  const std::shared_ptr<Counters>& counters() const { return counters_; }

  // Adds the chunk's location to the error: its coordinates, those of its first element and, if its record is
  // known, the absolute offset of its stored bytes.
  Error located(const Error& error, std::uint64_t chunk, const chunk::ChunkRecord* record = nullptr) const;

 private:
  ChunkStore(const object::OpenedFilePtr& file, const object::DatasetDescription& description,
             const chunk::ChunkGeometry& geometry);

  Status check_stored(const chunk::ChunkRecord& record) const;
  MutableByteSpan worth_filling(std::uint64_t chunk, MutableByteSpan out) const;
  Status decode_stored(std::uint64_t chunk, const chunk::ChunkRecord& record, ByteSpan stored,
                       MutableByteSpan out, ChunkDecode& work) const;

  std::shared_ptr<io::ByteSource> source_;
  std::shared_ptr<Counters> counters_;
  std::uint64_t base_address_;  // the base address of `source_`, for error messages
  ChunkPlan plan_;
  FillPattern fill_;
  std::vector<std::uint64_t> chunk_dims_;  // the dataset's rank
  std::uint64_t dataset_address_;
  bool partial_unfiltered_;
  bool unallocated_ = false;
  std::uint64_t filter_count_;
  std::uint64_t cache_bytes_ = 0;    // the cache's budget
  std::uint64_t scratch_bytes_ = 0;  // bytes needed between filters
  std::shared_ptr<const filter::FilterPipeline> pipeline_;
  std::unique_ptr<chunk::ChunkIndex> index_;
};

// The error that `needs(scaled, record)` gives for every chunk that is stored; nullopt if a chunk does
// without what is missing, or none is stored. A large index is not walked to its end: so many chunks speak
// for all.
template <class Needs>
std::optional<Error> needed_by_all(const chunk::ChunkIndex& index, Needs needs) {
  constexpr std::size_t kMostAsked = 1U << 16;
  std::optional<Error> error;
  std::size_t asked = 0;
  const Status walked = index.for_each([&](std::span<const std::uint64_t> scaled, const auto& record) {
    error = needs(scaled, record);
    return error.has_value() && ++asked < kMostAsked;
  });
  return walked ? error : std::nullopt;  // what is damaged is told by its own read
}

// The largest read of chunks that lie together: large enough to make system calls rare, small enough for
// scratch memory.
inline constexpr std::uint64_t kGatherBytes = 512U << 10;
// The largest gap between two chunks that costs less to read than to skip.
inline constexpr std::uint64_t kGatherGap = 4U << 10;

template <class Into, class Done>
Status ChunkStore::decode_run(std::uint64_t first, std::span<const chunk::ChunkRecord> records,
                              ChunkDecode& work, Into into, Done done) const {
  will_read(records);
  const std::size_t chunk_bytes = static_cast<std::size_t>(plan_.chunk_bytes());
  for (std::size_t i = 0; i < records.size();) {
    const chunk::ChunkRecord& head = records[i];
    if (!head.allocated()) {
      done(i, ByteSpan());
      ++i;
      continue;
    }
    // Counts the following chunks that continue this read.
    std::uint64_t end = 0;
    if (__builtin_add_overflow(head.address, head.stored_size, &end)) end = head.address;
    std::size_t next = i + 1;
    while (next < records.size() && records[next].allocated() && records[next].address >= end &&
           records[next].address - end <= kGatherGap && records[next].stored_size <= kGatherBytes &&
           records[next].address + records[next].stored_size - head.address <= kGatherBytes) {
      end = records[next].address + records[next].stored_size;
      ++next;
    }
    if (next == i + 1) {
      MutableByteSpan out = into(i);
      if (out.empty()) out = work.plain(chunk_bytes);
      H5_TRY(decode(first + i, head, out, work));
      done(i, ByteSpan(out));
      ++i;
      continue;
    }
    const auto stored = work.fetch(head.address, static_cast<std::size_t>(end - head.address));
    if (!stored) return fail(located(stored.error(), first + i, &head));
    Counters::add(counters_->stored_bytes_read, stored->size());
    for (; i < next; ++i) {
      const auto at = static_cast<std::size_t>(records[i].address - head.address);
      const ByteSpan bytes = stored->subspan(at, static_cast<std::size_t>(records[i].stored_size));
      MutableByteSpan out = into(i);
      if (out.empty() && bytes.size() == chunk_bytes && stored_plain(first + i, records[i])) {
        Counters::add(counters_->chunks_decoded);
        done(i, bytes);
        continue;
      }
      if (out.empty()) out = work.plain(chunk_bytes);
      H5_TRY(decode_stored(first + i, records[i], bytes, out, work));
      done(i, ByteSpan(out));
    }
  }
  return {};
}

}  // namespace h5mount::dataset
