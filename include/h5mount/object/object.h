// Objects of a file: groups, datasets and committed datatypes, independent of the format version that stores
// them.
//
// Threads: any. Ownership: results own their data; the FileMetadata must outlive the objects loaded from it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/base/request_budget.h"
#include "h5mount/format/data_layout.h"
#include "h5mount/format/dataspace.h"
#include "h5mount/format/datatype.h"
#include "h5mount/format/filter_pipeline.h"
#include "h5mount/format/messages.h"
#include "h5mount/metadata/file_metadata.h"
#include "h5mount/metadata/object_header.h"
#include "h5mount/object/grid_rows.h"

namespace h5mount::dataset {
struct Placement;  // dataset/placement.h
}

namespace h5mount::object {

enum class ObjectKind : std::uint8_t { Group, Dataset, Datatype };
std::string_view kind_name(ObjectKind kind);  // "group", "dataset", "datatype"

struct Attribute;

struct Object {
  std::uint64_t address = 0;
  ObjectKind kind = ObjectKind::Group;
  std::shared_ptr<const metadata::ObjectHeader> header;
  // For one who asks for many of them: all attributes, of which none is damaged. Null: they are read one by
  // one. Only find_attribute looks here.
  std::shared_ptr<const std::vector<Attribute>> attributes = nullptr;
};

// Loads the header and determines the kind by its messages: a dataset has a layout or a dataspace; a group a
// symbol table, link info or link; a committed datatype only a datatype. Fails with InvalidValue for any
// other header, and with UnsupportedFeature or UnsupportedVersion if it has a message that must be understood
// and is not.
Result<Object> open_object(const metadata::FileMetadata& file, std::uint64_t address);

// The kind only, from the header's first chunk: much cheaper than open_object. Returns nullopt if that chunk
// does not determine it or cannot be read.
std::optional<ObjectKind> peek_object_kind(const metadata::FileMetadata& file, std::uint64_t address);

// Seconds since 1970 if the object stores a time (the times of a version 2 header, else the modification time
// messages).
std::optional<std::int64_t> object_modification_time(const Object& object);
std::optional<std::string> object_comment(const metadata::FileMetadata& file, const Object& object);

// ---- groups

class Group {
 public:
  static Result<std::unique_ptr<Group>> open(metadata::FileMetadataPtr file, const Object& object);
  virtual ~Group() = default;

  // Finds a link by its exact name, reading only the nodes on the path (hash or name index). If that path is
  // damaged, all readable links are searched. Fails with NotFound if there is no such link, or with the error
  // of the damaged part if the name may have been in it.
  virtual Result<format::Link> find(std::string_view name) const = 0;

  // Visits every link once, in the cheapest order of the storage; `visit` returns false to stop. Parts that
  // cannot be read are reported to `damaged` (may be null) and the others are still visited. An error status
  // means that the traversal ended there. The list is complete only if neither happens.
  virtual Status for_each(const std::function<bool(const format::Link&)>& visit,
                          const std::function<void(const Error&)>& damaged) const = 0;

  // True if the group *indexes* creation order: readdir then follows Link::creation_order, else names.
  virtual bool creation_order_indexed() const = 0;
};

// Resolves an HDF5 path of hard links from `start` ('/' separated, '.' and empty components dropped). Soft
// links are followed too, up to 16 deep; external links fail with UnsupportedFeature here.
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
  std::optional<Error> damage;  // the name is known but the value cannot be read; `type` may be null
};

// Which parts of an attribute to decode: name, character set and creation order only, or all.
enum class AttributeDetail : std::uint8_t { Name, Full };

// The error for a name that no attribute of an object has, neither in the file nor under user.hdf5.*.
inline Error no_such_attribute() {
  return {ErrorCode::NotFound, "no such attribute"};
}

// Visits all attributes, in creation order if it is tracked, else as stored. Damage is reported as by
// Group::for_each. `examine` (may be null) receives each attribute as soon as it is decoded, in any order,
// and may move data out of it, which is then not held in memory while others are read.
Status for_each_attribute(const metadata::FileMetadata& file, const Object& object,
                          const std::function<bool(const Attribute&)>& visit,
                          const std::function<void(const Error&)>& damaged,
                          AttributeDetail detail = AttributeDetail::Full,
                          const std::function<void(Attribute&)>& examine = nullptr);
// Finds an attribute by its exact name. Dense storage is searched by its name index, and completely if that
// is damaged. Fails with NotFound if there is no such attribute, or with the error of the damaged part if the
// name may have been in it.
Result<Attribute> find_attribute(const metadata::FileMetadata& file, const Object& object,
                                 std::string_view name);

// ---- datasets

struct ExternalSegment {
  std::string file;          // as stored
  std::uint64_t offset = 0;  // bytes into that file
  std::uint64_t size = 0;    // bytes; kUnlimited
};

// The names that codes stand for: code n stands for name n. Immutable.
struct Categories {
  bool known = false;  // false: there are names, which were not read
  // If not null, the names are numbers or times of this type, whose values are in place of their texts.
  format::DatatypePtr type = {};
  std::vector<std::byte> values = {};  // little-endian
  bool strings = true;                 // false: the names are texts of numbers
  std::string text;                    // all names, one after the other
  std::vector<std::uint64_t> ends;     // of each name, in `text`
  // If not null, the members are no codes but lists: two numbers of 8 bytes, the first element of the list
  // and the one behind it. Appends the list as JSON.
  using AppendList = Status(std::uint64_t first, std::uint64_t end, RequestBudget& budget, std::string& out);
  std::function<AppendList> list = {};
  // Where the elements are single numbers, their type and count, and what appends them as they are stored.
  format::DatatypePtr element = {};
  std::uint64_t elements = 0;
  using ReadList = Status(std::uint64_t first, std::uint64_t end, RequestBudget& budget,
                          std::vector<std::byte>& out);
  std::function<ReadList> read = {};
  std::shared_ptr<const void> charge;  // of their memory

  std::uint64_t count() const { return type ? values.size() / type->size : ends.size(); }
  std::string_view name(std::uint64_t code) const {
    const auto at = static_cast<std::size_t>(code);
    const std::uint64_t begin = at == 0 ? 0 : ends[at - 1];
    return std::string_view(text).substr(static_cast<std::size_t>(begin),
                                         static_cast<std::size_t>(ends[at] - begin));
  }
};
using CategoriesPtr = std::shared_ptr<const Categories>;

struct DatasetDescription {
  std::uint64_t address = 0;  // of its object header
  format::DatatypePtr type;
  format::Dataspace space;
  format::DataLayout layout;
  format::FillValue fill;
  format::FilterPipelineMessage pipeline;
  std::vector<ExternalSegment> external;
  std::uint64_t element_size = 0;  // type->size
  std::uint64_t image_bytes = 0;   // elements * element size: the row-major image. TooLarge if >= 2^63
  bool side_by_side = false;       // several datasets side by side: see dataset/dataset_columns.h
  // Fields that repeat what another says and say something else. The data are read by the other one, as
  // libhdf5 reads them (docs/format-notes.md, "Fields that do not decide").
  std::vector<Error> disagreements;
  // For datasets side by side: for each member of the type the names of its codes; null if the member holds
  // values.
  std::vector<CategoriesPtr> categories;
  // For datasets side by side: for each member of the type the member whose bytes say where its values are
  // missing (those that are not 0), which is no column itself.
  std::vector<std::optional<std::size_t>> masks = {};
  // For datasets side by side: the elements of a grid whose dimensions are the first members; null: they are
  // not, or their order is row-major.
  GridRowsPtr boxes = {};
  // Where a map is; null: it is none, or nothing was asked.
  std::shared_ptr<const dataset::Placement> placement = nullptr;
  // For the entries of a sparse matrix (dataset/matrix_entries.h): its rows and columns.
  std::array<std::uint64_t, 2> matrix = {};
};

// Resolves and checks all messages of a dataset against each other: chunk rank, element size, product fits.
Result<DatasetDescription> describe_dataset(const metadata::FileMetadata& file, const Object& object);

// The description of a dataset that may be damaged, made from those messages that can be decoded
// individually. The other parts of the description are empty.
struct DatasetParts {
  DatasetDescription description;
  bool type = false, space = false, layout = false, fill = false, pipeline = false;
  std::optional<Error> problem;  // the first error; nullopt if the description is complete
};
DatasetParts describe_parts(const metadata::FileMetadata& file, const Object& object);

// The type of a committed datatype object.
Result<format::DatatypePtr> committed_datatype(const metadata::FileMetadata& file, const Object& object);

}  // namespace h5mount::object
