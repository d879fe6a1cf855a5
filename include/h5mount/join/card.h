// Cards: what the rules for joining files (join/plan.h) know of each file: its members, what their elements
// are, and digests of what is compared. A card is made in one pass over headers; of elements only those of
// small datasets and of coordinates are read. Equal members of files are one object in memory, so that a card
// costs little where files are alike. Immutable; threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/dataset/open_dataset.h"
#include "h5mount/join/options.h"
#include "h5mount/meaning/calendar.h"
#include "h5mount/meaning/packing.h"

namespace h5mount::join {

struct Digest {
  std::uint64_t low = 0, high = 0;
  bool operator==(const Digest&) const = default;
};

struct CardAttribute {
  std::string name;
  Digest value;      // of type and value; strings by their characters, however they are stored
  std::string text;  // of one string of at most kMostCardText bytes; else empty
};
inline constexpr std::size_t kMostCardText = 4096;

// A number of 64 bits: a whole one, or a double.
struct Number {
  bool is_whole = true;
  std::int64_t whole = 0;
  double real = 0;
  bool operator==(const Number&) const = default;
};

struct MemberCard {
  enum class Kind : std::uint8_t { Group, Dataset, Datatype, SoftLink, ExternalLink };
  std::string path;  // from the root, without a leading `/`; empty: the root
  Kind kind = Kind::Group;
  std::string target;          // of links: where they lead (of external ones FILE:PATH)
  std::optional<Error> error;  // it cannot be read, or its type or layout is unknown

  std::vector<CardAttribute> attributes;  // by name; without those that say what dimensions are

  // ---- of datasets
  format::DatatypePtr type;
  format::Dataspace space;
  std::vector<std::byte> fill;  // HDF5's own, as stored; empty: zeros
  // For each dimension the path of its first scale; empty: it has none. A scale of one dimension is its own.
  std::vector<std::string> scales;
  bool is_scale = false, without_values = false;
  bool is_coordinate = false;  // a scale, or what `coordinates` or `bounds` of a dataset names

  std::optional<meaning::Packing> packing;  // of numbers
  bool packing_sound = true;    // false: scale_factor or add_offset is no single finite number, or 0
  bool bounds_time = false;     // it has no units: they are those of the coordinate that names it as bounds
  std::string units, calendar;  // of times that have none of their own: those of that coordinate

  // Of the elements, where they are compared whole: of the numbers, strings… that they hold, whatever their
  // widths, byte order and padding, and of what the packing makes of them (numbers as doubles, in single
  // precision before where the packing is of that). Never of what has an existing axis, nor, for a new one,
  // of others than scales; nullopt also for what is too large or cannot be read.
  std::optional<Digest> values, decoded;
  std::vector<Number> numbers;  // the numbers of at most kMostCardNumbers elements, as stored

  std::vector<std::uint64_t> chunk;  // empty: not chunked
  Digest pipeline;                   // of its filters
  format::LayoutClass layout = format::LayoutClass::Contiguous;
};
inline constexpr std::size_t kMostCardNumbers = 16;
using MemberCardPtr = std::shared_ptr<const MemberCard>;

// The values of a coordinate along the axis.
struct AxisValues {
  std::uint32_t member = 0;                    // number of the coordinate among FileCard::members
  bool readable = true;                        // false: its values could not be read, or are no numbers
  Number first, last;                          // as stored, if there are any
  double decoded_first = 0, decoded_last = 0;  // unpacked; not rebased
  bool ascending = true, descending = true;    // strictly; one value is both
  bool has_missing = false;                    // NaN, or a fill value
  bool all_whole = true;                       // all numbers are whole
  // The greatest common divisor of the differences of whole numbers; 0: there are none, or it is not known.
  // All are whole in other units if the first and this are.
  std::uint64_t common_step = 0;
  Digest values;  // of all of them
};

// The place of a file on a new axis (Axis::Kind::New), or the epoch of its times (Existing with a date form).
struct Label {
  enum class Kind : std::uint8_t { Number, Time, Text };
  Kind kind = Kind::Text;
  Number number = {};     // of Time: seconds since 1970-01-01
  std::string text = {};  // as it was found
};

struct FileCard {
  std::string path;                                 // from the directory of sources; of a list the name there
  std::uint64_t identity = 0, stamp = 0, size = 0;  // the state of the file of which the card is
  std::optional<Error> error;                       // it cannot be had; the rest is then empty
  bool may_grow = false;                            // a SWMR writer has it open
  std::vector<MemberCardPtr> members;               // by path, as bytes
  std::vector<AxisValues> axes;                     // of existing axes: their coordinates
  std::optional<Label> label;                       // nullopt: nothing asks for it, or none was found

  const MemberCardPtr* find(std::string_view member) const;
};
using FileCardPtr = std::shared_ptr<const FileCard>;

// Makes cards. Threads: any; no lock is held while a file is read.
class CardMaker {
 public:
  explicit CardMaker(Axis axis);
  ~CardMaker();

  // `environment`: with the opened file. `card`: with path, identity, stamp and size. A file that is no sound
  // HDF5 file gives a card with an error. Errors: those of the request and of the moment.
  Result<FileCardPtr> make(const dataset::ReadEnvironment& environment, FileCard card, RequestBudget& budget);
  // A card as bytes, to be kept, and back. `decode` fails with InvalidValue for bytes of another version or
  // axis, and for damaged ones.
  std::vector<std::byte> encode(const FileCard& card) const;
  Result<FileCardPtr> decode(ByteSpan bytes);

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

// The members that a joined file may have at most, of one file and of all.
inline constexpr std::size_t kMostMembers = std::size_t{1} << 16;

// Natural order of names: by components of the path, runs of digits as numbers, then by bytes.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace h5mount::join
