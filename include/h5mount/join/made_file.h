// MadeFile: an HDF5 file that is made in memory: groups, datasets, links and attributes by what they hold.
// Written as the specification's newest structures that every library since 1.10 reads: superblock 3, object
// headers of version 2, links in headers, attributes in headers or, when they are large, in dense storage.
// Threads: one, while it is made.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/format/datatype.h"
#include "h5mount/object/object.h"

namespace h5mount::join {

// Elements of any type. Places in a file, which differ from file to file, are left out of `bytes` and stand
// beside them.
struct MadeValue {
  std::vector<std::byte> bytes;  // as the type stores them
  struct Reference {             // to an object, at a byte of `bytes`
    std::size_t at = 0;
    std::string path;  // in the made file; it is null if there is no such object
  };
  std::vector<Reference> references;
  struct Sequence {  // of variable length, at a byte of `bytes`
    std::size_t at = 0;
    std::uint32_t length = 0;         // elements of the base type; of strings bytes
    std::vector<MadeValue> elements;  // one: all of them, one behind the other; none: it is empty
  };
  std::vector<Sequence> sequences;
};

struct MadeAttribute {
  std::string name;
  format::CharacterSet charset = format::CharacterSet::Ascii;
  format::DatatypePtr type;
  format::Dataspace space;
  MadeValue value;
};

// One source of a virtual dataset: all of it, to the places [start, start + length) of a dimension.
struct MadeSource {
  std::string file, dataset;
  std::uint64_t start = 0, length = 0;
  bool added_dimension = false;  // the source does not have the dimension
};

struct MadeObject {
  enum class Kind : std::uint8_t { Group, Dataset, Datatype, SoftLink };
  std::string path;  // without a leading `/`; empty: the root
  Kind kind = Kind::Group;
  std::string target;  // of SoftLink
  std::vector<MadeAttribute> attributes;

  // ---- datasets and named types
  format::DatatypePtr type;
  format::Dataspace space;
  std::vector<std::byte> fill;  // empty: the default
  // Where the elements are: in the file (compact, or contiguous where they are many), in other datasets
  // (virtual), or elsewhere (neither; dataset::MadeDatasets has them): then chunked as `chunk` says, if any.
  std::optional<MadeValue> elements;
  std::optional<std::uint32_t> dimension;  // of `sources`
  std::vector<MadeSource> sources;
  std::vector<std::uint64_t> chunk;
  format::FilterPipelineMessage pipeline;
};

// Objects whose addresses stay when the file is made again: each has a place of 2^32 bytes. Readers see the
// bytes of the whole as one file with holes of zeros (io::ByteSource); it must not be stored.
struct SparseImage {
  struct Segment {
    std::uint64_t address = 0;
    std::vector<std::byte> bytes;
  };
  std::vector<Segment> segments;  // ascending
  std::uint64_t end = 0;
};
inline constexpr unsigned kPlaceBits = 32;

// The number of the place of an object: equal for a path as long as the joined file lives; from 0, the root.
using PlaceOf = std::function<std::uint64_t(std::string_view path)>;
inline std::uint64_t place_address(std::uint64_t place) {
  return (place + 1) << kPlaceBits;
}

// Objects: by path, the root first; the groups of a path are among them. What cannot be expressed fails with
// UnsupportedFeature or TooLarge and words for the user.
Result<SparseImage> make_sparse_image(const std::vector<MadeObject>& objects, const PlaceOf& place_of,
                                      RequestBudget& budget);
// The same as a file that can be stored: its bytes lie one behind the other.
Result<std::vector<std::byte>> make_file(const std::vector<MadeObject>& objects, RequestBudget& budget);

}  // namespace h5mount::join
