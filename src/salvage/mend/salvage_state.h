// Rescue: one file being salvaged; the parts of salvage_source share it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "../find/shape.h"
#include "../find/survey.h"
#include "../find/sweep.h"
#include "../find/used_ranges.h"
#include "encode.h"
#include "h5mount/format/chunk_record_format.h"
#include "h5mount/format/messages.h"
#include "h5mount/metadata/file_metadata.h"
#include "made_source.h"

namespace h5mount::salvage {

struct OpenedDataset {
  object::Object object;
  object::DatasetDescription description;
  chunk::ChunkGeometry geometry;  // of chunks, where they have a sound one; else without a size
};

struct Rescue {
  Rescue(std::shared_ptr<io::ByteSource> bytes, const Options& asked)
      : options(asked), source(std::move(bytes)) {}

  const Options& options;
  std::shared_ptr<io::ByteSource> source;
  std::shared_ptr<MadeSource> made;
  metadata::FileMetadataPtr file;  // reads `made`
  Shape shape;
  std::vector<Found> found;  // sorted by address
  Claims claims;             // ranges that structures below the root take up
  Claims weak_claims;        // ranges that objects take up to which nothing links
  Claims unreadable;         // ranges that the source failed to read
  DataClaims data;           // of datasets below the root
  // Chunks that were found beside the datasets' own indexes, by the address of the dataset's header.
  std::vector<std::pair<std::uint64_t, Claims>> rebuilt;
  std::uint64_t end = 0;               // end of the file's own addresses
  std::uint64_t steps = 0;             // steps of rebuilding that are left
  std::uint64_t filled_left = 0;       // bytes of contiguous datasets that may still be filled
  std::uint64_t decoded_left = 0;      // bytes of chunks that may still be decoded to check them
  std::uint64_t told_left = kMaxTold;  // bytes of memory for what is told of objects
  bool untold = false;                 // true if they did not suffice
  bool stopped = false;                // true if options.progress ended salvage
  unsigned damaged_trees = 0;          // chunk indexes whose nodes do not name their owner
  std::unordered_map<std::uint64_t, std::size_t> finding_at;  // index in report.findings by address
  Report report;
  std::array<std::vector<std::uint32_t>, kKinds> by_kind;  // indexes into `found`; headers are left out
  // The found structures of each kind that was asked for, sorted by owner; nullopt if it was not asked for.
  std::array<std::optional<std::vector<std::pair<std::uint64_t, Found>>>, kKinds> by_owner;

  format::FileSizes sizes() const { return file->sizes(); }
  // The found structures of a kind; those that nothing claims; and those that name `owner` as their header.
  // All of them cost a step for each structure that is looked at, and give none where the steps do not
  // suffice: many objects of a file may ask for many structures.
  std::vector<Found> of_kind(Kind kind);
  std::vector<Found> unclaimed(Kind kind);
  std::vector<Found> owned(Kind kind, std::uint64_t owner);
  void take_found(std::vector<Found> more);
  bool spend(std::uint64_t count) {
    if (count > steps) return false;
    steps -= count;
    return true;
  }
  // Called between structures; returns false for good once options.progress has returned false.
  bool go_on() {
    stopped = stopped || (options.progress && !options.progress(0, 0));
    return !stopped;
  }
  bool may_fill(std::uint64_t bytes) {
    if (bytes > filled_left) return false;
    filled_left -= bytes;
    return true;
  }
  // To be called after bytes were laid over the file's: the caches of `file` may hold what was read before.
  Status reopen();

  // Replaces messages of the object with that header: removes those whose types are in `without`, and adds
  // those in `add`.
  bool replace_messages(const metadata::ObjectHeader& header, std::span<const format::MessageType> without,
                        std::span<const NewMessage> add);
  // Lays a header with these messages over the bytes at `address`; the messages themselves lie elsewhere.
  bool make_header_at(std::uint64_t address, std::span<const NewMessage> messages);
  // `damage`: whether the finding tells of damage.
  void note(Finding finding, bool damage = true);
  void note(std::uint64_t address, Certainty certainty, std::string found_by);
  // Charges what is kept of an object; returns false where kMaxTold does not suffice.
  bool tell(std::uint64_t bytes);
  std::optional<OpenedDataset> describe(std::uint64_t address) const;
};

// ---- headers (headers.cpp)

// Lays a new header over the damaged one at `address`, with the messages that are left of it. A dataset
// without its datatype becomes one of opaque elements (of bytes if their size is not known), one without its
// extents a list of the elements or chunks that are stored. Returns false if too little is left.
bool mend_header(Rescue& rescue, std::uint64_t address);

// The copy of an old group's symbol table message in the group's entry in its parent's symbol node.
struct CachedTable {
  std::uint64_t tree = 0, heap = 0;
};
std::unordered_map<std::uint64_t, CachedTable> cached_tables(Rescue& rescue);  // by the header's address
bool mend_old_group(Rescue& rescue, std::uint64_t address, const CachedTable& table);

// ---- groups (groups.cpp)

// The links of an old group, by the addresses of its tree and heap.
std::vector<format::Link> links_of_table(const Rescue& rescue, std::uint64_t tree, std::uint64_t heap);
// The links of a group whose header is gone.
struct HeadlessGroup {
  std::uint64_t heap = 0;  // address of the heap with the links' names, or with the links
  std::vector<format::Link> links;
};
// Finds such groups by heaps that lie in none of `claims` (each may be null).
std::vector<HeadlessGroup> headless_groups(Rescue& rescue, std::array<const Claims*, 2> claims);

// The links of a damaged group that are found in surviving nodes and heap blocks and are not in `known`.
std::vector<format::Link> surviving_links(Rescue& rescue, const object::Object& group,
                                          std::span<const format::Link> known);
// Replaces the group's own links by these.
bool replace_links(Rescue& rescue, const object::Object& group, std::span<const format::Link> links);
// Makes a new group of these links and returns its address.
std::optional<std::uint64_t> make_group(Rescue& rescue, std::span<const format::Link> links);
// Names by address, from symbol nodes and link messages that nothing claims. If the number of names without
// an object in the heap of one damaged old group equals the number of lost objects, they are assigned to the
// objects in order: both are in the order in which they were made.
std::unordered_map<std::uint64_t, std::string> surviving_names(Rescue& rescue,
                                                               std::span<const DamagedGroup> groups,
                                                               std::span<const std::uint64_t> lost);

// ---- datasets (rechunk.cpp)

// Makes the known bytes of a dataset readable, and reads of all others an error. `unlinked`: nothing leads to
// the dataset's header, so its bytes may have been used again.
void rescue_dataset(Rescue& rescue, const OpenedDataset& dataset, bool unlinked);

// The chunks of a dataset whose index is damaged, as far as surviving blocks and nodes list them.
struct GatheredChunks {
  std::vector<PlacedChunk> chunks;    // may contain a chunk twice
  std::vector<std::uint64_t> absent;  // numbers of chunks that were never written
  Certainty certainty = Certainty::Proven;
  std::string found_by;
};
GatheredChunks gather_array_chunks(Rescue& rescue, const OpenedDataset& dataset);
GatheredChunks gather_tree1_chunks(Rescue& rescue, const OpenedDataset& dataset);
GatheredChunks gather_tree2_chunks(Rescue& rescue, const OpenedDataset& dataset);
// The numbers of those of `chunks` that exist and cannot be decoded, ascending. Only as many are decoded as
// Rescue::decoded_left allows.
std::vector<std::uint64_t> damaged_chunks(Rescue& rescue, const OpenedDataset& dataset,
                                          std::span<const PlacedChunk> chunks);

// The numbers of those of `chunks` that are nothing but zeros as they are stored, ascending. Those for which
// Rescue::decoded_left does not suffice count as such if they begin with zeros.
std::vector<std::uint64_t> zero_chunks(Rescue& rescue, const OpenedDataset& dataset,
                                       std::span<const PlacedChunk> chunks);

// Whether the source fails to give some of these bytes. The sweep tells it of whole pages, or of more; what
// is not large is therefore read.
bool is_unread(Rescue& rescue, std::uint64_t begin, std::uint64_t bytes);
// The parts of [begin, end) that are in `claims`, counted from `begin`, ascending. Where the steps do not
// suffice, the last part reaches over what lies between: many lost datasets may lie over many claims, and
// each keeps its own list.
std::vector<MadeSource::Lost> parts_in(Rescue& rescue, const Claims& claims, std::uint64_t begin,
                                       std::uint64_t end);

// The range of the dataset's file from the chunk's first byte to its last, and how many of its bytes are the
// chunk's.
struct ChunkImage {
  Finding::Range range;
  std::uint64_t bytes = 0;
};
ChunkImage image_of(const chunk::ChunkGeometry& geometry, std::uint64_t number);

// Whether the chunk's stored bytes are its elements.
bool is_stored_plain(const OpenedDataset& dataset, const PlacedChunk& chunk);

// What the source fails to give of a chunk that is stored as it is.
struct UnreadParts {
  std::vector<MadeSource::Lost> parts;  // counted from the chunk's first byte, ascending
  std::vector<Finding::Range>
      ranges;               // of the dataset's file, each from the first byte of a part to its last
  std::uint64_t bytes = 0;  // the number of the dataset's bytes in `parts`
};
UnreadParts unread_parts(Rescue& rescue, const chunk::ChunkGeometry& geometry, const PlacedChunk& chunk);

// The coordinates of a chunk's first element, by the chunk's number in the row-major order of the grid.
std::vector<std::uint64_t> offsets_of(const chunk::ChunkGeometry& geometry, std::uint64_t number);
// Whether the chunk extends beyond the dataset, and such chunks are stored without filters.
bool is_plain_at_edge(const OpenedDataset& dataset, std::uint64_t number);
// Whether a stored chunk can have that address and size.
bool may_be_chunk(const Rescue& rescue, const chunk::ChunkGeometry& geometry, std::uint64_t address,
                  std::uint64_t bytes);
// The format of an array's element or a tree's record that describes a chunk.
std::optional<format::ChunkRecordFormat> record_format(const Rescue& rescue, const OpenedDataset& dataset,
                                                       unsigned coordinates);

}  // namespace h5mount::salvage
