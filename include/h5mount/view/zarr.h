// Zarr: a dataset as an array of a Zarr store (https://zarr-specs.readthedocs.io, versions 2 and 3): its
// metadata, its division into chunks, and the file of each chunk. The module `tree` determines the files of a
// store and its groups (tree/zarr/zarr_store.h).
//
// Every chunk has a file, even one that was never written: readers fill missing chunks with a default. Chunks
// that the extent cuts are padded with zeros, which readers discard. Threads: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/view/derived.h"

namespace h5mount::view {

// A datatype as the type of a Zarr array's elements.
struct ZarrType {
  struct Segment {
    std::uint64_t offset = 0, bytes = 0;  // in the stored element
    std::uint32_t reversed = 0;           // bytes of each unit whose byte order is reversed; 0: none
    bool operator==(const Segment&) const = default;
  };
  std::string dtype;                // JSON: "<f4", [["a","<i4"],…]; of version 3: "float32", {"name":…}
  std::vector<std::uint32_t> dims;  // of an array datatype: the last ones of the array's shape
  std::vector<Segment> segments;    // the parts of an element that are kept: Zarr types have no padding
  std::uint64_t bytes = 0;          // of the segments together
  bool variable_strings = false;    // chunks are encoded as vlen-utf8
  std::string_view endian = {};     // version 3: of the `bytes` codec; empty: elements have no byte order

  // Whether elements of this size are served as they are stored.
  bool is_stored_form(std::uint64_t element_size) const {
    return segments.size() == 1 && segments[0].reversed == 0 && bytes == element_size;
  }
};

// Plain: version 2, packed little-endian elements, no codec: netCDF-C 4.9.0 takes big-endian ones for
// little-endian ones. Stored: version 2, the stored bytes of the file's own chunks if a Zarr codec is
// equivalent to their filters; of other datasets packed elements without a codec. Version3: version 3,
// elements as stored; compounds are packed and little-endian. StoredVersion3: the chunks of Stored with
// version 3's metadata and types, for references alone: it has no files.
enum class ZarrEncoding : std::uint8_t { Plain, Stored, Version3, StoredVersion3 };

constexpr bool is_version3(ZarrEncoding encoding) {
  return encoding == ZarrEncoding::Version3 || encoding == ZarrEncoding::StoredVersion3;
}
constexpr bool is_stored(ZarrEncoding encoding) {
  return encoding == ZarrEncoding::Stored || encoding == ZarrEncoding::StoredVersion3;
}

// One of the Zarr stores in which a file is shown.
struct ZarrStore {
  std::string_view name;  // of its directory under /.h5
  ZarrEncoding encoding;
  std::string_view summary;  // for the mount's README
};
std::span<const ZarrStore> zarr_stores();

// Fails with UnsupportedFeature, and a short phrase as its text, if Zarr has no type with these stored bytes.
Result<ZarrType> zarr_type(const format::Datatype& type, ZarrEncoding encoding);

class ZarrArray {
 public:
  // Fails with UnsupportedFeature as zarr_type does, and for a null dataspace.
  static Result<ZarrArray> of(const object::DatasetDescription& dataset, ZarrEncoding encoding);

  // In the dataset's own dimensions. The chunks are the dataset's own or, if it has none, 4 to 16 MiB of its
  // image, cut along the first dimensions.
  const std::vector<std::uint64_t>& shape() const { return shape_; }
  const std::vector<std::uint64_t>& chunk_shape() const { return chunk_; }
  const std::vector<std::uint64_t>& grid() const { return grid_; }
  std::uint64_t chunk_count() const { return chunks_; }
  const ZarrType& type() const { return type_; }
  ZarrEncoding encoding() const { return encoding_; }

  // The name of a chunk's file (that of Stored for StoredVersion3), and the number for a name; nullopt if no
  // chunk has that name.
  std::string chunk_name(std::uint64_t number) const;
  std::optional<std::uint64_t> chunk_number(std::string_view name) const;

  // The text of .zarray. `fill_value`: as JSON.
  std::string metadata(std::string_view fill_value) const;
  // The text of an array's zarr.json. `dimension_names`, `attributes`: JSON.
  std::string version3_metadata(std::string_view fill_value, std::string_view dimension_names,
                                std::string_view attributes) const;

 private:
  explicit ZarrArray(ZarrEncoding encoding) : encoding_(encoding) {}

  // JSON: the given extents, those of the dataset's own dimensions, followed by those of an array datatype.
  std::string with_type_dims(std::vector<std::uint64_t> extents) const;

  ZarrEncoding encoding_;
  std::vector<std::uint64_t> shape_, chunk_, grid_;
  std::uint64_t chunks_ = 0;
  std::string compressor_ = "null", filters_ = "null";  // JSON, of version 2
  std::string codecs_;  // of version 3: those after the first, each after a comma
  ZarrType type_;
};

// HDF5's fill value in the form of version 3, as JSON. `dataset`: of a type that zarr_type accepts.
Result<std::string> zarr3_fill_value(const object::DatasetDescription& dataset,
                                     const text::ValueContext& values);

// A chunk of a dataset in its present state, as an image of its own in the stored form of elements; and the
// view that makes the chunk's file from that image. As the chunk is a derivation, it is followed and
// invalidated as other views are.
DerivationPtr derive_zarr_chunk(std::uint64_t number, ZarrEncoding encoding);
const View& zarr_chunk_view(ZarrEncoding encoding);

}  // namespace h5mount::view
