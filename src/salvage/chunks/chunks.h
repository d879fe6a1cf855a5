// Makes what is known of datasets readable: contiguous data of which parts are lost get a new place, and
// chunks a new tree.
#pragma once

#include "../mend/salvage_state.h"
#include "h5mount/format/chunk_record_format.h"

namespace h5mount::salvage {

// Makes the known bytes of a dataset readable, and reads of all others an error. `unlinked`: nothing leads to
// the dataset's header, so its bytes may have been used again.
void mend_dataset(SalvageState& state, const OpenedDataset& dataset, bool unlinked);

// The chunks of a dataset whose index is damaged, as far as surviving blocks and nodes list them.
struct GatheredChunks {
  std::vector<PlacedChunk> chunks;    // may contain a chunk twice
  std::vector<std::uint64_t> absent;  // numbers of chunks that were never written
  Certainty certainty = Certainty::Proven;
  std::string found_by;
};
GatheredChunks gather_array_chunks(SalvageState& state, const OpenedDataset& dataset);
GatheredChunks gather_tree1_chunks(SalvageState& state, const OpenedDataset& dataset);
GatheredChunks gather_tree2_chunks(SalvageState& state, const OpenedDataset& dataset);
// The numbers of those of `chunks` that exist and cannot be decoded, ascending. Only as many are decoded as
// SalvageState::decoded_left allows.
std::vector<std::uint64_t> damaged_chunks(SalvageState& state, const OpenedDataset& dataset,
                                          std::span<const PlacedChunk> chunks);

// The numbers of those of `chunks` that are nothing but zeros as they are stored, ascending. Those for which
// SalvageState::decoded_left does not suffice count as such if they begin with zeros.
std::vector<std::uint64_t> zero_chunks(SalvageState& state, const OpenedDataset& dataset,
                                       std::span<const PlacedChunk> chunks);

// Whether the source fails to give some of these bytes. The sweep tells it of whole pages, or of more; what
// is not large is therefore read.
bool is_unread(SalvageState& state, std::uint64_t begin, std::uint64_t bytes);
// The parts of [begin, end) that are in `used`, counted from `begin`, ascending. Where the steps do not
// suffice, the last part reaches over what lies between: many lost datasets may lie over many ranges, and
// each keeps its own list.
std::vector<Range> parts_in(SalvageState& state, const UsedRanges& used, std::uint64_t begin,
                            std::uint64_t end);

// The range of the dataset's file from the chunk's first byte to its last, and how many of its bytes are the
// chunk's.
struct ChunkImage {
  Range range;
  std::uint64_t bytes = 0;
};
ChunkImage image_of(const chunk::ChunkGeometry& geometry, std::uint64_t number);

// Whether the chunk's stored bytes are its elements.
bool is_stored_plain(const OpenedDataset& dataset, const PlacedChunk& chunk);

// The parts of a chunk, stored as it is, that the source fails to give.
struct UnreadParts {
  std::vector<Range> parts;   // counted from the chunk's first byte, ascending
  std::vector<Range> ranges;  // of the dataset's file, each from the first byte of a part to its last
  std::uint64_t bytes = 0;    // the number of the dataset's bytes in `parts`
};
UnreadParts unread_parts(SalvageState& state, const chunk::ChunkGeometry& geometry, const PlacedChunk& chunk);

// The coordinates of a chunk's first element, by the chunk's number in the row-major order of the grid.
std::vector<std::uint64_t> offsets_of(const chunk::ChunkGeometry& geometry, std::uint64_t number);
// Whether the chunk extends beyond the dataset, and such chunks are stored without filters.
bool is_plain_at_edge(const OpenedDataset& dataset, std::uint64_t number);
// Whether a stored chunk can have that address and size.
bool may_be_chunk(const SalvageState& state, const chunk::ChunkGeometry& geometry, std::uint64_t address,
                  std::uint64_t bytes);
// The format of an array's element or a tree's record that describes a chunk.
std::optional<format::ChunkRecordFormat> record_format(const SalvageState& state,
                                                       const OpenedDataset& dataset, unsigned coordinates);

}  // namespace h5mount::salvage
