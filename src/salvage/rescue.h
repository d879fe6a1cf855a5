// Rescue: one file being salvaged; the parts of salvage_source share it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "claims.h"
#include "encode.h"
#include "h5mount/format/chunk_record_format.h"
#include "h5mount/metadata/file_metadata.h"
#include "made_source.h"
#include "shape.h"
#include "survey.h"
#include "sweep.h"

namespace h5mount::salvage {

struct Rescue {
  Rescue(std::shared_ptr<io::ByteSource> bytes, const Options& asked)
      : options(asked), source(std::move(bytes)) {}

  const Options& options;
  std::shared_ptr<io::ByteSource> source;
  std::shared_ptr<MadeSource> made;
  metadata::FileMetadataPtr file;  // of `made`
  Shape shape;
  std::vector<Found> found;        // at addresses, in their order
  Claims claims;                   // of what the root leads to
  Claims weak_claims;              // of what nothing leads to
  std::uint64_t end = 0;           // of the file's own addresses
  std::uint64_t steps = 0;         // of rebuilding that are left
  std::uint64_t filled_left = 0;   // bytes of contiguous datasets that may be filled yet
  std::uint64_t decoded_left = 0;  // bytes of chunks that may be decoded yet to see whether they can be
  bool stopped = false;            // options.progress ended it
  unsigned damaged_trees = 0;      // chunk indexes whose nodes do not say whose they are
  std::unordered_map<std::uint64_t, std::size_t> finding_at;  // by address
  Report report;
  std::array<std::vector<std::uint32_t>, kKinds> by_kind;  // in `found`; not of headers
  // By owner, of each kind that was asked for.
  std::array<std::optional<std::vector<std::pair<std::uint64_t, Found>>>, kKinds> by_owner;

  format::FileSizes sizes() const { return file->sizes(); }
  // The found structures of a kind, those that nobody has a claim to, and those that name `owner` as their
  // header.
  std::vector<Found> of_kind(Kind kind) const;
  std::vector<Found> unclaimed(Kind kind) const;
  std::vector<Found> owned(Kind kind, std::uint64_t owner);
  void take_found(std::vector<Found> more);
  bool spend(std::uint64_t count) {
    if (count > steps) return false;
    steps -= count;
    return true;
  }
  // Asked between structures; false from then on where options.progress says so.
  bool go_on() {
    stopped = stopped || (options.progress && !options.progress(0, 0));
    return !stopped;
  }
  bool may_fill(std::uint64_t bytes) {
    if (bytes > filled_left) return false;
    filled_left -= bytes;
    return true;
  }
  // After bytes were laid over: what was read before may be in the caches of `file`.
  Status reopen();

  // Gives the object at `address` other messages: those of `add` in place of those of the types `without`.
  bool replace_messages(const metadata::ObjectHeader& header, std::span<const format::MessageType> without,
                        std::span<const NewMessage> add);
  // Lays a header of these messages over what is at `address`; the messages themselves lie elsewhere.
  bool make_header_at(std::uint64_t address, std::span<const NewMessage> messages);
  void note(Finding finding);
};

// ---- groups (regroup.cpp)

// The links of an old group by its tree and heap.
std::vector<format::Link> links_of_table(const Rescue& rescue, std::uint64_t tree, std::uint64_t heap);
// Links of a group whose header is gone.
struct HeadlessGroup {
  std::uint64_t heap = 0;  // of its names
  std::vector<format::Link> links;
};
// From heaps that nobody in `claims` (which may be null) leads to.
std::vector<HeadlessGroup> headless_groups(Rescue& rescue, std::array<const Claims*, 2> claims);

// The links of a damaged group that surviving nodes and heap blocks tell and that are not in `known`.
std::vector<format::Link> surviving_links(Rescue& rescue, const object::Object& group,
                                          std::span<const format::Link> known);
// Puts these links in the place of the group's own.
bool replace_links(Rescue& rescue, const object::Object& group, std::span<const format::Link> links);
// A group of these links, which did not exist; its address.
std::optional<std::uint64_t> make_group(Rescue& rescue, std::span<const format::Link> links);
// Names that symbol nodes and link messages which nobody claims still give to addresses.
// Where as many names of the heap of one damaged old group have no object as objects are lost, they are
// theirs in order: both are in the order in which they were made.
std::unordered_map<std::uint64_t, std::string> surviving_names(Rescue& rescue,
                                                               std::span<const DamagedGroup> groups,
                                                               std::span<const std::uint64_t> lost);

// ---- datasets (rechunk.cpp)

// Makes what can be known of a dataset readable, and everything else an error. `unlinked`: nothing leads to
// its header, so that its bytes may have been used again.
void rescue_dataset(Rescue& rescue, const DatasetTrouble& trouble, bool unlinked);

// What surviving blocks and nodes tell of the chunks of a dataset whose index is damaged.
struct GatheredChunks {
  std::vector<PlacedChunk> chunks;    // may hold a chunk twice
  std::vector<std::uint64_t> absent;  // numbers of chunks that were never written
  Certainty certainty = Certainty::Proven;
  std::string found_by;
};
GatheredChunks gather_array_chunks(Rescue& rescue, const DatasetTrouble& trouble,
                                   const chunk::ChunkGeometry& geometry);
GatheredChunks gather_tree1_chunks(Rescue& rescue, const DatasetTrouble& trouble,
                                   const chunk::ChunkGeometry& geometry);
GatheredChunks gather_tree2_chunks(Rescue& rescue, const DatasetTrouble& trouble,
                                   const chunk::ChunkGeometry& geometry);
// Chunks that only their own form tells, in the order of their addresses.
GatheredChunks hunt_chunks(Rescue& rescue, const DatasetTrouble& trouble,
                           const chunk::ChunkGeometry& geometry, std::uint64_t wanted);

// The numbers of those of `chunks` that are there and do not decode; of as many as Rescue::decoded_left
// allows.
std::vector<std::uint64_t> damaged_chunks(Rescue& rescue, const DatasetTrouble& trouble,
                                          const chunk::ChunkGeometry& geometry,
                                          std::span<const PlacedChunk> chunks);

// A chunk's first element, by its number in the row-major order of the grid; whether it goes beyond the
// dataset.
std::vector<std::uint64_t> offsets_of(const chunk::ChunkGeometry& geometry, std::uint64_t number);
bool is_partial(const chunk::ChunkGeometry& geometry, std::span<const std::uint64_t> offsets);
// Whether a stored chunk can have that place and size.
bool may_be_chunk(const Rescue& rescue, const chunk::ChunkGeometry& geometry, std::uint64_t address,
                  std::uint64_t bytes);
// The format of an element of an array or tree of chunks.
std::optional<format::ChunkRecordFormat> record_format(const Rescue& rescue, const DatasetTrouble& trouble,
                                                       const chunk::ChunkGeometry& geometry,
                                                       unsigned coordinates);

}  // namespace h5mount::salvage
