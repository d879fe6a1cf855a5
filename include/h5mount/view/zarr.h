// Zarr: a dataset as an array of a Zarr store (https://zarr-specs.readthedocs.io, versions 2 and 3): what its
// metadata says, how it is cut into chunks, and the file of each chunk. Which files a store has, and the
// groups between, are the tree's part (tree/zarr_store.h).
//
// Every chunk has a file, also those that were never written: a reader of a missing one would invent its
// elements. Chunks that are cut by the extent are padded with zeros, which readers cut off. Threads: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/view/derived.h"

namespace h5mount::view {

// A datatype as the elements of a Zarr array.
struct ZarrType {
  struct Segment {
    std::uint64_t offset = 0, bytes = 0;  // in the stored element
    std::uint32_t reversed = 0;  // of each so many bytes the order is reversed; 0: they stay as they are
  };
  std::string dtype;                // JSON: "<f4", [["a","<i4"],…]; of version 3: "float32", {"name":…}
  std::vector<std::uint32_t> dims;  // of an array datatype: the last ones of the array's shape
  std::vector<Segment> segments;    // what is kept of an element: Zarr knows no padding
  std::uint64_t bytes = 0;          // of them
  bool variable_strings = false;    // chunks are encoded as vlen-utf8
  std::string_view endian = {};     // version 3: of the `bytes` codec; empty: elements have no byte order

  // Whether elements of so many bytes are given as they are stored.
  bool is_stored_form(std::uint64_t element_size) const {
    return segments.size() == 1 && segments[0].reversed == 0 && bytes == element_size;
  }
};

// Plain: version 2, elements as they are, without a codec. Stored: version 2, the bytes of the file's own
// chunks, where a codec of Zarr means the same as their filters; other datasets as in Plain. Version3:
// version 3, elements as they are; compounds are packed and little-endian.
enum class ZarrEncoding : std::uint8_t { Plain, Stored, Version3 };

// UnsupportedFeature, with a short phrase as its text, where Zarr has no type that means the stored bytes.
Result<ZarrType> zarr_type(const format::Datatype& type, ZarrEncoding encoding);

class ZarrArray {
 public:
  // UnsupportedFeature as zarr_type, and for a null dataspace.
  static Result<ZarrArray> of(const object::DatasetDescription& dataset, ZarrEncoding encoding);

  // Of the dataset's own dimensions. The chunks are the dataset's own, or, where it has none, 4 to 16 MiB of
  // its image, cut along the first dimensions.
  const std::vector<std::uint64_t>& shape() const { return shape_; }
  const std::vector<std::uint64_t>& chunk_shape() const { return chunk_; }
  const std::vector<std::uint64_t>& grid() const { return grid_; }
  std::uint64_t chunk_count() const { return chunks_; }
  const ZarrType& type() const { return type_; }

  // The name of a chunk's file, and back; nothing where no chunk is called so.
  std::string chunk_name(std::uint64_t number) const;
  std::optional<std::uint64_t> chunk_number(std::string_view name) const;

  // The text of .zarray. `fill_value`: as JSON.
  std::string metadata(std::string_view fill_value) const;
  // That of an array's zarr.json. `dimension_names`, `attributes`: JSON.
  std::string version3_metadata(std::string_view fill_value, std::string_view dimension_names,
                                std::string_view attributes) const;

 private:
  explicit ZarrArray(ZarrEncoding encoding) : version3_(encoding == ZarrEncoding::Version3) {}

  // Extents of the dataset's own dimensions, then those of an array datatype: JSON.
  std::string with_type_dims(std::vector<std::uint64_t> extents) const;

  bool version3_;
  std::vector<std::uint64_t> shape_, chunk_, grid_;
  std::uint64_t chunks_ = 0;
  std::string compressor_ = "null", filters_ = "null";  // JSON
  ZarrType type_;
};

// HDF5's fill value as version 3 has that of an array: JSON. `dataset`: of a type that zarr_type takes.
Result<std::string> zarr3_fill_value(const object::DatasetDescription& dataset,
                                     const text::ValueContext& values);

// A chunk of a dataset as it is now, as an image of its own in the stored form of elements; and the view that
// makes the chunk's file of it.
DerivationPtr derive_zarr_chunk(std::uint64_t number, ZarrEncoding encoding);
const View& zarr_chunk_view(ZarrEncoding encoding);

}  // namespace h5mount::view
