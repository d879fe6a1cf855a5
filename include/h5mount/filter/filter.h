// Filters and filter pipelines: decode the stored bytes of a chunk or heap block (specification IV.A.2.l).
//
// To add a filter: one file in src/filter/, one line in the registry's table (src/filter/registry.cpp), and
// test vectors made by the reference library in tests/filter.
//
// Threads: filters and pipelines are immutable and shared. Every decoder stays within its input and output
// spans, for any input.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/base/bytes.h"
#include "h5mount/base/error.h"
#include "h5mount/base/scratch_buffer.h"

namespace h5mount::filter {

// One filter, as the pipeline message describes it (format's FilterDescription, which this module does not
// depend on).
struct FilterSpec {
  std::uint16_t id = 0;
  std::string name;
  std::vector<std::uint32_t> client_data;
};

// A box (hyperslab with stride 1) of a chunk's elements.
struct ChunkBox {
  std::span<const std::uint64_t> dims;   // dimensions of the chunk, in elements
  std::span<const std::uint64_t> start;  // first element of the box
  std::span<const std::uint64_t> count;
  std::size_t element_size = 0;  // bytes
};

// A stored chunk opened for decoding in parts: reading a box decodes only the blocks that it touches. Refers
// to the stored bytes, which must outlive it. Threads: any.
class PartialChunk {
 public:
  virtual ~PartialChunk() = default;

  // Decodes the box, row-major and dense, into exactly out.size() bytes. Precondition: the box lies inside
  // the chunk.
  virtual Status read_box(const ChunkBox& box, MutableByteSpan out) const = 0;
  // The number of blocks that read_box would decode, and of all blocks: for the choice between decoding a box
  // and the whole chunk.
  virtual std::uint64_t blocks_of(const ChunkBox& box) const = 0;
  virtual std::uint64_t block_count() const = 0;
};

// Counters for tests, benchmarks and `-d`.
struct FilterCounters {
  std::atomic<std::uint64_t> blocks_decoded{0};   // blocks of Blosc containers
  std::atomic<std::uint64_t> blocks_in_reach{0};  // all blocks of the chunks that were decoded in part
};
FilterCounters& filter_counters();

class Filter {
 public:
  virtual ~Filter() = default;

  // Decodes `in` to the front of `out` and returns the bytes written. Output that does not fit `out` is
  // FilterFailed, never truncated. `in` and `out` must not overlap.
  virtual Result<std::size_t> decode(ByteSpan in, MutableByteSpan out) const = 0;

  // The maximum number of bytes that a correct encoder produces from `decoded` bytes: bounds the buffers
  // between filters.
  virtual std::size_t encoded_bound(std::size_t decoded) const { return decoded + decoded / 8 + 65'536; }

  // Whether `as_view` always gives the decoded bytes.
  virtual bool decodes_in_place() const { return false; }

  // For filters whose decoded bytes are a part of `in` (fletcher32): returns that part, without a copy.
  // Returns nullopt if `decode` is needed.
  virtual Result<std::optional<ByteSpan>> as_view(ByteSpan in) const {
    (void)in;
    return std::optional<ByteSpan>{};
  }

  // Opens a stored chunk of `decoded_bytes` for decoding in parts; null if the chunk can only be decoded
  // whole.
  virtual bool may_decode_partially() const { return false; }
  virtual Result<std::unique_ptr<PartialChunk>> open_partial(ByteSpan in, std::size_t decoded_bytes) const {
    (void)in, (void)decoded_bytes;
    return nullptr;
  }
};

// A registered filter: its name ("deflate"), and what is missing if this build has no decoder for it.
struct FilterInfo {
  std::uint16_t id = 0;
  std::string_view name;
  bool available = false;
  std::string_view missing_hint;  // "needs liblz4-dev at build time", or the plugin that has it
};
FilterInfo filter_info(std::uint16_t id);  // `name` is empty for unregistered ids
std::vector<FilterInfo> known_filters();

// Fails with UnsupportedFeature if the filter is unknown or not built in, and with InvalidValue for client
// data that no correct writer produces.
Result<std::shared_ptr<const Filter>> make_filter(const FilterSpec& spec, std::size_t chunk_bytes);

// Reused buffers of one thread for the steps between filters.
class FilterScratch {
 public:
  MutableByteSpan first(std::size_t bytes) { return first_.grown(bytes); }
  MutableByteSpan second(std::size_t bytes) { return second_.grown(bytes); }
  // Frees buffers of more than `keep` bytes.
  void trim(std::size_t keep) {
    first_.trim(keep);
    second_.trim(keep);
  }

 private:
  ScratchBuffer first_, second_;
};

class FilterPipeline {
 public:
  // `specs` are in write order; decoding applies them last to first. If a filter is not available, this
  // function does not fail, but `decode` of a chunk that needs the filter does (the chunk's mask bit may
  // exclude it).
  static Result<std::shared_ptr<const FilterPipeline>> make(std::span<const FilterSpec> specs,
                                                            std::size_t chunk_bytes);

  // Undoes every filter whose bit is not set in `mask`, and fills exactly out.size() bytes; fails with
  // FilterFailed for any other result size. For heap blocks and sections out.size() is their decoded size.
  Status decode(ByteSpan stored, std::uint32_t mask, MutableByteSpan out, FilterScratch& scratch) const;
  // The same, but fewer bytes are no error: returns the bytes written. (Some writers truncate the last
  // chunk.)
  Result<std::size_t> decode_up_to(ByteSpan stored, std::uint32_t mask, MutableByteSpan out,
                                   FilterScratch& scratch) const;

  // Opens a chunk for decoding in parts, if only one of its filters has to decode and supports it; else
  // returns null. `stored` must outlive the result.
  Result<std::unique_ptr<PartialChunk>> open_partial(ByteSpan stored, std::uint32_t mask,
                                                     std::size_t decoded_bytes) const;
  // False if open_partial returns null for every chunk.
  bool may_decode_partially() const;

  bool empty() const { return steps_.empty(); }
  // The largest number of bytes that both buffers between filters take while a chunk of `decoded` bytes is
  // decoded.
  std::uint64_t scratch_bytes(std::uint64_t decoded) const;
  // The error for the first filter that is not available and that a chunk with this mask needs; nullopt if
  // there is none.
  std::optional<Error> missing(std::uint32_t mask = 0) const;

 private:
  struct Step {
    std::string label;                     // "filter 1 (deflate)", for errors
    std::shared_ptr<const Filter> filter;  // null: not available
    std::optional<Error> why;
  };
  std::vector<Step> steps_;  // in write order
};

}  // namespace h5mount::filter
