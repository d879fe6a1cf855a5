// Survey: walks the structures that object headers lead to, with the ordinary readers, and lists which are
// whole, which are damaged, and which bytes all of them take up.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "address_table.h"
#include "h5mount/chunk/chunk_index.h"
#include "h5mount/metadata/file_metadata.h"
#include "h5mount/object/object.h"
#include "h5mount/salvage/salvage.h"
#include "used_ranges.h"

namespace h5mount::salvage {

// A group of which some links cannot be read.
struct DamagedGroup {
  object::Object object;
  std::vector<format::Link> links;
  Error why;
};

// A dataset of which ordinary readers do not return some bytes, or return bytes that may be wrong. Its
// description is read again when it is mended: a hostile file has many such datasets.
struct DamagedDataset {
  std::uint64_t address = 0;
  bool index = false;       // whether its chunk index is damaged
  bool index_tree = false;  // whether that is a tree, whose nodes do not name their owner
};

struct Surveyed {
  AddressTable reached;   // value: the kind of object
  AddressTable links_in;  // addresses that links lead to
  std::vector<DamagedGroup> groups;
  std::vector<DamagedDataset> datasets;
  std::vector<std::uint64_t> summed;       // datasets whose chunks have no other checksum than Fletcher-32
  std::vector<std::uint64_t> misnamed;     // what links lead to in groups whose names are out of order
  std::vector<std::uint64_t> unreadable;   // addresses that links lead to, with no readable object
  std::vector<std::uint64_t> overlapping;  // datasets with chunks that have bytes in common

  bool is_group(std::uint64_t address) const {
    return reached.find(address) == static_cast<std::uint8_t>(object::ObjectKind::Group);
  }
};

// A chunk of a dataset, in the row-major order of its grid.
struct PlacedChunk {
  std::uint64_t number = 0;
  chunk::ChunkRecord record;
};

// The bytes that the data of datasets take up, those of each dataset once.
struct UsedByData {
  UsedRanges ranges{true};
  // The end that the file should have. Data in one piece that end behind it have a wrong extent, and are left
  // out.
  std::uint64_t end = 0;
};

class Survey {
 public:
  // Adds the bytes that the walked objects take up to `used`. If `foreign` is given, bytes that are in it
  // belong to other objects. If `data` is given, it receives the bytes of data.
  Survey(metadata::FileMetadataPtr file, std::uint64_t end, UsedRanges& used, const UsedRanges* foreign,
         const Options& options, UsedByData* data = nullptr);

  // Walks everything that can be reached from `root` and was not walked before.
  void walk(std::uint64_t root);
  // Continues with another reader of the same file, of which some bytes have changed.
  void read_through(const metadata::FileMetadataPtr& file);
  Surveyed& result() { return out_; }
  const Surveyed& result() const { return out_; }
  // Makes the walk leave out the objects that `others` has reached.
  void leave_out(const Surveyed& others) { others_ = &others; }
  // Whether options.progress ended a walk.
  bool stopped() const { return stopped_; }
  // Whether the walk left out objects because there are more than can be kept in memory, or links because
  // they are more than the file can have.
  bool full() const { return full_; }

 private:
  bool go_on();
  void visit(std::uint64_t address);
  void visit_group(const object::Object& object);
  void visit_dataset(const object::Object& object);
  bool claim_chunks(const object::Object& object, const object::DatasetDescription& description,
                    std::optional<Error>& damage);
  bool claim(std::uint64_t address, std::uint64_t bytes);
  bool claim_data(std::uint64_t address, std::uint64_t bytes);
  bool may_claim() const;
  void read_attributes(const object::Object& object);

  std::uint64_t read_ = 0, index_read_ = 0;  // bytes of structures that were read, and of chunk indexes
  metadata::FileMetadataPtr file_;
  const std::uint64_t end_;
  std::uint64_t links_left_;  // the number of links that may still be followed
  UsedRanges& used_;
  const UsedRanges* const foreign_;
  UsedByData* const data_;
  const Surveyed* others_ = nullptr;
  Surveyed out_;
  std::deque<std::uint64_t> pending_;
  std::uint64_t claimed_ = 0;
  const Options& options_;
  bool full_ = false, stopped_ = false;
  std::uint64_t steps_ = 0;
};

bool has_filter(const object::DatasetDescription& description, std::uint16_t id);
// Whether the data lie in one piece, in this file.
bool is_contiguous(const object::DatasetDescription& description);
Result<chunk::ChunkGeometry> geometry_of(const object::DatasetDescription& description);
// The number of chunks in the grid; nullopt if it exceeds `limit`.
std::optional<std::uint64_t> chunk_count(const chunk::ChunkGeometry& geometry, std::uint64_t limit);

}  // namespace h5mount::salvage
