// Filters and their pipelines: stored bytes of a chunk (or of a heap block) back to plain bytes.
//
// To add a filter: one file in src/filter/, one line in the registry table (src/filter/registry.cpp), vectors
// made by the reference library under tests/filter.
//
// Threads: filters and pipelines are immutable and shared. Every decoder writes at most its given output and
// reads nothing beyond its input, whatever the input says.
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

// As the pipeline message describes one filter (format's FilterDescription, without depending on that room).
struct FilterSpec {
  std::uint16_t id = 0;
  std::string name;
  std::vector<std::uint32_t> client_data;
};

// A box of a chunk's elements.
struct ChunkBox {
  std::span<const std::uint64_t> dims;   // of the chunk, elements
  std::span<const std::uint64_t> start;  // of the box
  std::span<const std::uint64_t> count;
  std::size_t element_size = 0;  // bytes
};

// A stored chunk open for decoding in parts: a box costs the blocks that it touches, not the chunk. A view of
// the stored bytes, which must outlive it. Threads: any.
class PartialChunk {
 public:
  virtual ~PartialChunk() = default;

  // The box, row-major and dense, exactly out.size() bytes; it lies inside the chunk.
  virtual Status read_box(const ChunkBox& box, MutableByteSpan out) const = 0;
  // Blocks that read_box would decode, to choose between a part and all; and all there are.
  virtual std::uint64_t blocks_of(const ChunkBox& box) const = 0;
  virtual std::uint64_t block_count() const = 0;
};

// Counters for tests, benchmarks and `-d`.
struct FilterCounters {
  std::atomic<std::uint64_t> blocks_decoded{0};   // of containers that have blocks (Blosc)
  std::atomic<std::uint64_t> blocks_in_reach{0};  // all those of the chunks of which only a part was decoded
};
FilterCounters& filter_counters();

class Filter {
 public:
  virtual ~Filter() = default;

  // Decodes `in` to the front of `out`; gives the bytes written. More output than `out` holds is FilterFailed
  // (never a truncated success). `in` and `out` do not overlap.
  virtual Result<std::size_t> decode(ByteSpan in, MutableByteSpan out) const = 0;

  // The most bytes that a sound writer's encoder makes of `decoded` bytes: what bounds the steps between
  // filters.
  virtual std::size_t encoded_bound(std::size_t decoded) const { return decoded + decoded / 8 + 65'536; }

  // Filters that only check or cut (fletcher32): the decoded bytes are a part of `in`, no copy needed.
  // Returns an empty optional where the filter has to decode.
  virtual Result<std::optional<ByteSpan>> as_view(ByteSpan in) const {
    (void)in;
    return std::optional<ByteSpan>{};
  }

  // Opens a stored chunk of `decoded_bytes` for decoding in parts; null where the filter knows only all or
  // nothing.
  virtual bool may_decode_partially() const { return false; }
  virtual Result<std::unique_ptr<PartialChunk>> open_partial(ByteSpan in, std::size_t decoded_bytes) const {
    (void)in, (void)decoded_bytes;
    return nullptr;
  }
};

// Per filter id: the registered name ("deflate"), and what a user lacks where this build has no decoder.
struct FilterInfo {
  std::uint16_t id = 0;
  std::string_view name;
  bool available = false;
  std::string_view missing_hint;  // "needs liblz4-dev at build time", or the plugin that has it
};
FilterInfo filter_info(std::uint16_t id);  // name empty for ids nobody registered
std::vector<FilterInfo> known_filters();

// Errors: UnsupportedFeature (unknown or not built in), InvalidValue (client data that no sound writer
// makes).
Result<std::shared_ptr<const Filter>> make_filter(const FilterSpec& spec, std::size_t chunk_bytes);

// Reused buffers of one thread for the steps between filters.
class FilterScratch {
 public:
  MutableByteSpan first(std::size_t bytes) { return first_.grown(bytes); }
  MutableByteSpan second(std::size_t bytes) { return second_.grown(bytes); }
  // Gives memory back above `keep` bytes each.
  void trim(std::size_t keep) {
    first_.trim(keep);
    second_.trim(keep);
  }

 private:
  ScratchBuffer first_, second_;
};

class FilterPipeline {
 public:
  // `specs` in write order; decoding goes last to first. An unavailable filter does not fail here but in
  // `decode` of a chunk that needs it (its mask bit may say it was not applied).
  static Result<std::shared_ptr<const FilterPipeline>> make(std::span<const FilterSpec> specs,
                                                            std::size_t chunk_bytes);

  // Undoes every filter whose bit is not set in `mask`, so that exactly out.size() bytes stand in `out`; any
  // other number is FilterFailed. `out` may be any size for heap blocks and sections (then pass its true
  // size).
  Status decode(ByteSpan stored, std::uint32_t mask, MutableByteSpan out, FilterScratch& scratch) const;
  // The same, but fewer bytes are no error: gives how many stand in `out`. (Some writers cut the last chunk.)
  Result<std::size_t> decode_up_to(ByteSpan stored, std::uint32_t mask, MutableByteSpan out,
                                   FilterScratch& scratch) const;

  // The same chunk open for decoding in parts, where its one filter that decodes can do so; else null: decode
  // it all. `stored` must outlive what is given.
  Result<std::unique_ptr<PartialChunk>> open_partial(ByteSpan stored, std::uint32_t mask,
                                                     std::size_t decoded_bytes) const;
  // Whether open_partial may ever give more than null: decided once, not for each chunk.
  bool may_decode_partially() const;

  bool empty() const { return steps_.empty(); }
  // The first filter that this build lacks, as an error for user.hdf5.error; nothing where all are there.
  std::optional<Error> missing() const;

 private:
  struct Step {
    std::string label;                     // "filter 1 (deflate)", for errors
    std::shared_ptr<const Filter> filter;  // null: missing
    std::optional<Error> why;
  };
  std::vector<Step> steps_;  // write order
};

}  // namespace h5mount::filter
