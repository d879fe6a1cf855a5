// SalvageState: what the parts of salvage_source share of the file that is salvaged.
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
#include "h5mount/format/encode.h"
#include "h5mount/format/messages.h"
#include "h5mount/metadata/file_metadata.h"
#include "h5mount/metadata/object_header.h"
#include "made_source.h"

namespace h5mount::salvage {

struct OpenedDataset {
  object::Object object;
  object::DatasetDescription description;
  chunk::ChunkGeometry geometry;  // chunk_bytes is 0 if the dataset has no chunks of a valid geometry
};

// The findings about objects, within kMaxTold bytes of memory.
struct Findings {
  Report report;
  std::unordered_map<std::uint64_t, std::size_t> at;  // index in report.findings by address
  std::uint64_t bytes_left = kMaxTold;
  bool incomplete = false;  // true if they did not suffice

  // `damage`: whether the finding tells of damage. Where there is one of the same object, both become one.
  void note(Finding finding, bool damage = true);
  void note(std::uint64_t address, Certainty certainty, std::string found_by);
  // Charges what is kept of an object; returns false where kMaxTold does not suffice.
  bool charge(std::uint64_t bytes);
};

struct SalvageState {
  SalvageState(std::shared_ptr<io::ByteSource> bytes, const Options& asked)
      : options(asked), source(std::move(bytes)) {}

  const Options& options;
  std::shared_ptr<io::ByteSource> source;
  std::shared_ptr<MadeSource> made;
  metadata::FileMetadataPtr file;  // reads `made`
  Shape shape;
  std::vector<Found> found;     // sorted by address
  UsedRanges used;              // ranges that structures below the root take up
  UsedRanges used_by_unlinked;  // ranges that objects take up to which nothing links
  UsedRanges unreadable;        // ranges that the source failed to read
  UsedByData data;              // of datasets below the root
  // Chunks that were found beside the datasets' own indexes, by the address of the dataset's header.
  std::vector<std::pair<std::uint64_t, UsedRanges>> rebuilt;
  std::uint64_t end = 0;           // end of the file's own addresses
  std::uint64_t steps = 0;         // steps of rebuilding that are left
  std::uint64_t filled_left = 0;   // bytes of contiguous datasets that may still be filled
  std::uint64_t decoded_left = 0;  // bytes of chunks that may still be decoded to check them
  bool stopped = false;            // true if options.progress ended salvage
  unsigned damaged_trees = 0;      // chunk indexes whose nodes do not name their owner
  Findings findings;
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
                        std::span<const format::NewMessage> add);
  // Lays a header with these messages over the bytes at `address`; the messages themselves lie elsewhere.
  bool make_header_at(std::uint64_t address, std::span<const format::NewMessage> messages);
  std::optional<OpenedDataset> describe(std::uint64_t address) const;
};

}  // namespace h5mount::salvage
