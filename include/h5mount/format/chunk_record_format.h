// The record by which fixed arrays, extensible arrays and version 2 B-trees locate one chunk. All of them
// share this decoder; the fields of a record follow from the client (arrays) or the record type (B-trees):
//
//   arrays, client 0        address
//   arrays, client 1        address | stored size (1 to 8) | filter mask (4)
//   arrays, clients 2, 3    address | stored size (1 to 8) | section fields
//   B-tree type 10          address | scaled offsets (8 x rank)
//   B-tree type 11          address | stored size (1 to 8) | filter mask (4) | scaled offsets (8 x rank)
//   B-tree types 12, 13     address | stored size (1 to 8) | scaled offsets (8 x rank) | section fields
//
// An address has size_of_offsets bytes. The width of the stored size is not stored: it is what remains of the
// record's own size. So one rule serves layout versions 4 (width by the chunk's bytes) and 5 (always 8).
// Section fields of a structured chunk with N sections: offsets of sections 1 to N-1 (8 each); if filtered
// (client 3, type 13) also the unfiltered sizes of all N sections (8 each) and their filter masks (4 each).
//
// Immutable after `make`; threads: any.
#pragma once

#include <cstdint>

#include "h5mount/format/cursor.h"

namespace h5mount::format {

enum class ChunkClient : std::uint8_t { Plain = 0, Filtered = 1, Structured = 2, StructuredFiltered = 3 };

struct ChunkEntry {
  std::uint64_t address = kUndefinedAddress;  // undefined: no chunk
  std::uint64_t stored_size = 0;
  std::uint32_t filter_mask = 0;
};

class ChunkRecordFormat {
 public:
  // The parameters that determine the record's fields, apart from its size.
  struct Parameters {
    ChunkClient client = ChunkClient::Plain;
    std::uint8_t size_of_offsets = 8;
    unsigned coordinates = 0;        // scaled offsets in the record: the rank in a B-tree, 0 in an array
    std::uint8_t section_count = 0;  // structured chunks only
    std::uint64_t chunk_bytes = 0;   // stored size of a plain chunk, which its record does not hold
  };

  // The valid sizes of such a record in bytes; empty if no such record exists.
  struct SizeRange {
    std::uint64_t min = 1, max = 0;
    bool contains(std::uint64_t bytes) const { return bytes >= min && bytes <= max; }
  };
  static SizeRange sizes_of(const Parameters& parameters);

  // `record_bytes` is the record size in the structure's header. Returns nullopt if no such record exists.
  static std::optional<ChunkRecordFormat> make(const Parameters& parameters, std::uint64_t record_bytes);

  std::size_t record_bytes() const { return record_bytes_; }

  // Precondition: `at` points to record_bytes() bytes.
  ChunkEntry entry(const std::byte* at) const {
    ChunkEntry out;
    out.address = address(at);
    out.stored_size = size_width_ == 0 ? chunk_bytes_ : load_le_width(at + size_of_offsets_, size_width_);
    if (mask_at_ != 0) out.filter_mask = load_le<std::uint32_t>(at + mask_at_);
    return out;
  }
  std::uint64_t address(const std::byte* at) const { return load_address(at, size_of_offsets_); }
  std::uint64_t coordinate(const std::byte* at, unsigned dimension) const {
    return load_le<std::uint64_t>(at + coordinates_at_ + 8 * std::size_t{dimension});
  }
  ByteSpan sections(const std::byte* at) const { return {at + sections_at_, section_bytes_}; }

 private:
  std::uint8_t size_of_offsets_ = 8;
  std::uint8_t size_width_ = 0;
  std::size_t mask_at_ = 0;  // 0: no mask
  std::size_t coordinates_at_ = 0;
  std::size_t sections_at_ = 0;
  std::size_t section_bytes_ = 0;
  std::size_t record_bytes_ = 0;
  std::uint64_t chunk_bytes_ = 0;
};

}  // namespace h5mount::format
