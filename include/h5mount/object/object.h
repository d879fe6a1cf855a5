// Objects of a file: groups, datasets and committed datatypes, whatever generation of the format wrote them.
//
// Threads: all functions are const and safe from any thread. Ownership: results own what they hold; a File is
// shared and outlives its objects.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "h5mount/format/data_layout.h"
#include "h5mount/format/dataspace.h"
#include "h5mount/format/datatype.h"
#include "h5mount/format/filter_pipeline.h"
#include "h5mount/format/messages.h"
#include "h5mount/metadata/file_metadata.h"
#include "h5mount/metadata/object_header.h"

namespace h5mount::object {

enum class ObjectKind : std::uint8_t { Group, Dataset, Datatype };

struct Object {
  std::uint64_t address = 0;
  ObjectKind kind = ObjectKind::Group;
  std::shared_ptr<const metadata::ObjectHeader> header;
};

// Loads the header and tells the kind by its messages (a dataset has a layout or a dataspace; a group a
// symbol table, link info or link; a committed datatype a datatype alone). InvalidValue where it is none of
// them.
Result<Object> open_object(const metadata::FileMetadata& file, std::uint64_t address);

// The kind alone, from the header's first chunk: a small part of what opening costs. Nothing where that chunk
// does not tell or cannot be read.
std::optional<ObjectKind> peek_object_kind(const metadata::FileMetadata& file, std::uint64_t address);

// Seconds since 1970 where stored (v2 header times, else the modification time messages).
std::optional<std::int64_t> object_modification_time(const Object& object);
std::optional<std::string> object_comment(const metadata::FileMetadata& file, const Object& object);

// ---- groups

class Group {
 public:
  static Result<std::unique_ptr<Group>> open(metadata::FileMetadataPtr file, const Object& object);
  virtual ~Group() = default;

  // One link by its exact name, touching only the nodes on the way (hash or name index). Where the way is
  // damaged all links that can be read are searched. NotFound where there is none; the error of the damaged
  // part where the name may have been in it.
  virtual Result<format::Link> find(std::string_view name) const = 0;

  // Every link once, in the order the storage has them cheapest; `visit` returns false to stop. What cannot
  // be read is reported to `damaged` (may be null), all else still comes; where the status is an error as
  // well, the walk ended with it and what was visited stands. Whoever shows the list as complete looks at
  // both.
  virtual Status for_each(const std::function<bool(const format::Link&)>& visit,
                          const std::function<void(const Error&)>& damaged) const = 0;

  // True where the group *indexes* creation order: readdir then follows Link::creation_order, else names.
  virtual bool creation_order_indexed() const = 0;
};

// Resolves an HDF5 path of hard links from `start` ('/' separated, '.' and empty components dropped). Soft
// links are followed too, up to 16 deep; external links are UnsupportedFeature here.
Result<std::uint64_t> resolve_path(const metadata::FileMetadataPtr& file, std::uint64_t start,
                                   std::string_view path);

// ---- attributes

struct Attribute {
  std::string name;
  format::CharacterSet charset = format::CharacterSet::Ascii;
  format::DatatypePtr type;
  format::Dataspace space;
  ByteSpan data;  // element_count * type->size bytes, stored form
  std::shared_ptr<const void> owner;
  std::optional<std::uint32_t> creation_order;
  std::optional<Error> damage;  // name is known, value cannot be had: type may be null
};

// How much of an attribute is wanted: its name, character set and creation order alone, or all of it.
enum class AttributeDetail : std::uint8_t { Name, Full };

// All attributes, in creation order where it is tracked, else as stored. Damage is reported as by
// Group::for_each. `examine` (may be null) is given each whole one as soon as it is decoded, in any order:
// what it takes out of it is not held while others are read.
Status for_each_attribute(const metadata::FileMetadata& file, const Object& object,
                          const std::function<bool(const Attribute&)>& visit,
                          const std::function<void(const Error&)>& damaged,
                          AttributeDetail detail = AttributeDetail::Full,
                          const std::function<void(Attribute&)>& examine = nullptr);
// One by its exact name; dense storage is searched by its name index, and whole where that is damaged.
// NotFound; the error of the damaged part where the name may have been in it.
Result<Attribute> find_attribute(const metadata::FileMetadata& file, const Object& object,
                                 std::string_view name);

// ---- datasets

struct ExternalSegment {
  std::string file;          // as stored
  std::uint64_t offset = 0;  // bytes into that file
  std::uint64_t size = 0;    // bytes; kUnlimited
};

struct DatasetDescription {
  std::uint64_t address = 0;  // of its object header
  format::DatatypePtr type;
  format::Dataspace space;
  format::DataLayout layout;
  format::FillValue fill;
  format::FilterPipelineMessage pipeline;
  std::vector<ExternalSegment> external;
  std::uint64_t element_size = 0;  // type->size
  std::uint64_t image_bytes = 0;   // elements * element size: the row-major image. TooLarge where >= 2^63
};

// Resolves and checks all messages of a dataset against each other: chunk rank, element size, product fits.
Result<DatasetDescription> describe_dataset(const metadata::FileMetadata& file, const Object& object);

// The same of a dataset that may not be sound: those of its messages that can be decoded by themselves, so
// that what is known of it can be shown. The description's other parts are empty.
struct DatasetParts {
  DatasetDescription description;
  bool type = false, space = false, layout = false, fill = false, pipeline = false;
  std::optional<Error> problem;  // the first one; nothing where the description is whole
};
DatasetParts describe_parts(const metadata::FileMetadata& file, const Object& object);

// The type of a committed datatype object.
Result<format::DatatypePtr> committed_datatype(const metadata::FileMetadata& file, const Object& object);

}  // namespace h5mount::object
