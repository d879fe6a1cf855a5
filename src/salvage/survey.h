// Survey: walks what object headers lead to, by the ordinary readers, and tells what is whole, what is
// damaged, and which bytes all of it takes up.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "address_table.h"
#include "claims.h"
#include "h5mount/chunk/chunk_index.h"
#include "h5mount/metadata/file_metadata.h"
#include "h5mount/object/object.h"
#include "h5mount/salvage/salvage.h"

namespace h5mount::salvage {

// A group some of whose links cannot be read.
struct DamagedGroup {
  object::Object object;
  std::vector<format::Link> links;
  Error why;
};

// A dataset some of whose bytes the ordinary way does not give, or may not.
struct DatasetTrouble {
  object::Object object;
  object::DatasetDescription description;
  std::optional<Error> index;  // of its chunk index
};

struct Surveyed {
  AddressTable reached;   // with the kind of object
  AddressTable links_in;  // addresses that links lead to
  std::vector<DamagedGroup> groups;
  std::vector<DatasetTrouble> datasets;
  std::vector<std::uint64_t> unreadable;  // linked to, and no object

  bool is_group(std::uint64_t address) const {
    return reached.find(address) == static_cast<std::uint8_t>(object::ObjectKind::Group);
  }
};

// A chunk of a dataset, in the row-major order of its grid.
struct PlacedChunk {
  std::uint64_t number = 0;
  chunk::ChunkRecord record;
};

class Survey {
 public:
  // Bytes that the walked objects take up are added to `claims`. Where `foreign` is given, what they share
  // with it is not theirs.
  Survey(metadata::FileMetadataPtr file, std::uint64_t end, Claims& claims, const Claims* foreign,
         const Options& options);

  // Walks everything that can be reached from there and was not before.
  void walk(std::uint64_t root);
  // Goes on with another reader of the same file, whose bytes have changed in some places.
  void read_through(const metadata::FileMetadataPtr& file);
  Surveyed& result() { return out_; }
  const Surveyed& result() const { return out_; }
  // Objects that the walk takes for visited.
  void leave_out(const Surveyed& others) { others_ = &others; }
  // Whether options.progress ended a walk.
  bool stopped() const { return stopped_; }
  // Objects that the walk gave up on: more than are kept in memory.
  bool full() const { return full_; }

 private:
  bool go_on();
  void visit(std::uint64_t address);
  void visit_group(const object::Object& object);
  void visit_dataset(const object::Object& object);
  bool claim_chunks(const object::DatasetDescription& description, std::optional<Error>& damage);
  bool claim(std::uint64_t address, std::uint64_t bytes);
  void read_attributes(const object::Object& object);

  metadata::FileMetadataPtr file_;
  const std::uint64_t end_;
  Claims& claims_;
  const Claims* const foreign_;
  const Surveyed* others_ = nullptr;
  Surveyed out_;
  std::deque<std::uint64_t> pending_;
  std::uint64_t claimed_ = 0;
  const Options& options_;
  bool full_ = false, stopped_ = false;
  std::uint64_t steps_ = 0;
};

// The chunks of a dataset as its index tells them, and the first error of it.
std::vector<PlacedChunk> chunks_of(const metadata::FileMetadataPtr& file,
                                   const object::DatasetDescription& description,
                                   const chunk::ChunkGeometry& geometry, std::optional<Error>& damage);
Result<chunk::ChunkGeometry> geometry_of(const object::DatasetDescription& description);
std::uint64_t chunk_number(std::span<const std::uint64_t> scaled, std::span<const std::uint64_t> grid);
// The chunks of the grid; nothing above `limit`.
std::optional<std::uint64_t> chunk_count(const chunk::ChunkGeometry& geometry, std::uint64_t limit);

}  // namespace h5mount::salvage
