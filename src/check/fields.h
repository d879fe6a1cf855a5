// Fields: reads the bytes of one structure field by field, and each Field compares itself with what the
// specification says of it, beyond what readers need: what readers refuse is found by them. Every byte of a
// structure belongs to a field, so that the report learns of all fields (check.h: FieldReport). Threads: one
// at a time.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "allocated_space.h"
#include "context.h"
#include "h5mount/check/check.h"
#include "h5mount/format/cursor.h"
#include "h5mount/format/data_layout.h"
#include "h5mount/format/fractal_heap_blocks.h"
#include "h5mount/format/messages.h"
#include "h5mount/metadata/fractal_heap.h"

namespace h5mount::check {

inline constexpr std::string_view kBehindEnd = "lies behind the end of the file";
inline constexpr std::string_view kNotAscii =
    "has other characters than those of ASCII, which it is said to be in";
inline constexpr std::string_view kOverlapsTheOneBefore = "the member overlaps the one before it";
inline constexpr std::string_view kReachesBehindEnd = "reaches behind the end of the file";

class Fields;

// The object of a file that is checked, which findings name.
struct Subject {
  const Context* context = nullptr;
  PlaceId place = Places::kRoot;

  const metadata::FileMetadata& file() const { return *context->metadata; }
  std::uint64_t stored_end() const { return context->stored_end; }
  bool go_on() const { return context->tally.go_on(); }
  // The fields of a structure, which is checked once: nullopt if it was checked before, cannot be read, or if
  // more was read than a sound file has.
  std::optional<Fields> take(std::uint64_t address, std::uint64_t bytes, std::string_view structure) const;
};

// A field that was read. Of one behind its structure's end, whose value is 0, nothing is told.
struct Field : format::Field, Subject {
  std::string_view structure;
  bool present = false;

  operator std::uint64_t() const { return value; }
  Error disagreement(std::string_view why) const;

  // Each returns whether the field is as it should be, and tells if it is not.
  bool want(bool condition, std::string_view why) const;
  bool want_equal(std::uint64_t expected, std::string_view why) const;
  bool want_zero() const { return want_equal(0, "is 0 alone"); }
  bool want_not_zero() const { return want(value != 0, "is zero"); }
  bool want_bit() const { return want(value <= 1, "is neither 0 nor 1"); }
  bool want_range(std::uint64_t least, std::uint64_t most) const;
  bool want_flags(std::uint64_t known) const { return want((value & ~known) == 0, "reserved bits are set"); }
  // A mask of so many filters; 32 where their number is not known.
  bool want_filters(std::size_t filters) const {
    return want(filters >= 32 || value >> filters == 0, "is of filters that there are not");
  }
  // An address, behind which so many bytes are stored; want_stored passes undefined ones.
  bool want_stored(std::uint64_t bytes = 1, std::string_view why = kBehindEnd) const {
    return value == format::kUndefinedAddress || want_defined(bytes, why);
  }
  bool want_defined(std::uint64_t bytes = 1, std::string_view why = kBehindEnd) const;
};

class Fields : public Subject {
 public:
  Fields(const Subject& subject, format::Cursor cursor)
      : Subject(subject), cursor_(cursor), begin_(cursor.here()) {}
  Fields(const Subject& subject, metadata::MetadataBlock block, std::string_view structure);

  // Decodes the bytes from here on, which remain to be read.
  template <class Decode, class... More>
  auto decoded(const Decode& decode, const More&... more) const {
    format::Cursor cursor = cursor_;
    return decode(cursor, more...);
  }

  Field uint(std::size_t width, std::string_view name) { return cursor_.uint(width, name), met(width); }
  Field u8(std::string_view name) { return uint(1, name); }
  Field u16(std::string_view name) { return uint(2, name); }
  Field u32(std::string_view name) { return uint(4, name); }
  Field address(std::string_view name) { return cursor_.address(name), met(sizes().offsets); }
  Field length(std::string_view name) { return cursor_.length(name), met(sizes().lengths); }
  Field plain_length(std::string_view name) { return cursor_.plain_length(name), met(sizes().lengths); }
  ByteSpan bytes(std::uint64_t count, std::string_view name);
  // All bytes that are left. Its value is their number.
  Field rest(std::string_view name);
  // The signature, and fields of one byte behind it.
  void begin(std::initializer_list<std::string_view> names);
  // Bytes that are reserved and zero.
  void zeros(std::size_t count, std::string_view name);
  // A text that ends with a NUL; one that is filled with NULs to so many bytes.
  std::string_view c_string(std::string_view name);
  void padded_text(std::uint64_t count, std::string_view name);
  // The checksum of all bytes from the structure's first one on, or of a block of so many bytes, which
  // readers verify.
  void checksum(std::uint64_t of_block = 0);
  // A part that is a structure of its own. It is skipped here.
  Fields part(std::uint64_t count, std::string_view structure);

  // The field read last.
  Field last() const { return {cursor_.last(), *this, structure(), ok()}; }

  bool ok() const { return cursor_.ok(); }
  std::size_t remaining() const { return cursor_.remaining(); }
  std::size_t position() const { return cursor_.position(); }
  ByteSpan next(std::size_t most) const { return cursor_.rest().first(std::min(most, remaining())); }
  format::FileSizes sizes() const { return cursor_.sizes(); }
  void set_sizes(format::FileSizes sizes) { cursor_.set_sizes(sizes); }
  std::string_view structure() const { return cursor_.structure(); }
  // The structure lies in the file as it is read: not in a filtered block.
  void is_copy() { copy_ = true; }

 private:
  Field met(std::uint64_t bytes);
  FieldReport* report() const { return ok() && !copy_ ? context->fields : nullptr; }

  std::shared_ptr<const metadata::MetadataBlock> block_;  // null: another one has the bytes
  format::Cursor cursor_;
  std::uint64_t begin_;
  bool copy_ = false;
};

// A version 1 B-tree, of groups or chunks, whose nodes have room for so many children.
struct Tree1 {
  std::uint64_t root = 0, node_bytes = 0, most_children = 0;
  std::string_view structure;
};
// A child of a node. In trees of groups `key` is the one behind it: what it is, and where it lies.
struct Tree1Child {
  std::uint64_t address = 0, key = 0, key_offset = 0;
};
struct Tree1Node {
  const Tree1Child& child;  // as its parent has it
  Field level, children;
  bool root, last;  // the last one of its level
};
// Calls check(fields, node, below) behind the siblings of each node, which adds the node's children to
// `below`. Returns those of the leaves.
using Tree1Check = std::function<void(Fields& fields, const Tree1Node& node, std::vector<Tree1Child>& below)>;
std::vector<Tree1Child> check_btree1_fields(const Subject& subject, const Tree1& tree,
                                            const Tree1Check& check);

// A version 2 B-tree with records of that type and size. `record` reads the fields of one; they come in
// their order.
struct Tree2 {
  std::uint64_t address = 0;
  std::uint8_t type = 0;
  std::uint64_t record_bytes = 0;
  std::string_view record_name;
};
void check_btree2_fields(const Subject& subject, const Tree2& tree,
                         const std::function<void(Fields& record)>& record);
void check_split_and_merge_fields(Fields& fields);

// The objects of a fractal heap, as the records of an index tell of them.
struct HeapUse {
  std::uint64_t managed = 0, managed_bytes = 0, huge = 0, tiny = 0, tiny_bytes = 0;
  bool whole = true;  // whether all ids could be read
};
void check_heap_fields(const Subject& subject, std::uint64_t address, const HeapUse& use);

// The fields of ids of a heap, of which `use` learns.
class HeapIds {
 public:
  HeapIds(const Subject& subject, std::uint64_t heap_address);
  void check_id(Fields& record, std::size_t bytes);
  // Calls visit(field, plain, object) for the object of the id that was checked last, with a field of its
  // record, if it can be read: a number of them together, in the order of the heap, and the others at
  // `finish`. `plain`: its bytes lie in the file as they are.
  using Visit = std::function<void(const Field& field, bool plain, const metadata::FractalHeap::Object&)>;
  void look_at(const Field& field, const Visit& visit);
  void finish(const Visit& visit);
  // Whether the id that was checked last, with these flags of a message, is one that `names` has.
  void want_known(const HeapIds& names, const Field& flags) const;
  // Remembers the id that was checked last, for another index.
  void remember(std::uint64_t flags);
  const HeapUse& use() const { return use_; }

 private:
  void check_managed(Fields& record, std::size_t left);

  std::shared_ptr<const metadata::FractalHeap> heap_;
  std::optional<format::FractalHeapHeader> header_;
  struct Kept {
    Field field;
    bool plain;
  };
  static constexpr std::size_t kMostKept = 16'384;

  struct Known {
    std::uint64_t length, flags;
  };
  static constexpr std::size_t kMostKnown = 1U << 20;

  Field place_, length_;  // of the id that was checked last: where its object is
  std::unordered_map<std::uint64_t, Known> known_;
  std::vector<std::byte> id_, kept_ids_;
  std::vector<Kept> kept_;
  bool plain_ = false;
  HeapUse use_;
};

// Free space: the manager at that address, of the file or of a heap.
void check_free_space_fields(const Subject& subject, std::uint64_t address, bool of_heap,
                             std::uint64_t space_end);

// The dense links and attributes of an object. `most`: the largest creation order of attributes, if it is
// tracked.
void check_dense_links_fields(const Subject& subject, const format::LinkInfo& info);
void check_dense_attributes_fields(const Subject& subject, const format::AttributeInfo& info,
                                   const std::optional<Field>& most);

// The chunks of a dataset, as their index has them.
struct ChunkForm {
  std::size_t rank = 0;
  std::size_t filters = 0;
  std::uint64_t chunk_bytes = 0;
  std::optional<std::uint64_t> most_chunks;  // of the largest extent, if that is limited

  // A chunk's address, and with filters its size and mask: of so many bytes together.
  void check(Fields& entry, std::size_t bytes) const;
};
void check_chunk_tree_fields(const Subject& subject, const ChunkForm& form, const format::DataLayout& layout);
void check_chunk_records_fields(const Subject& subject, const ChunkForm& form,
                                const format::DataLayout& layout);
void check_fixed_array_fields(const Subject& subject, const ChunkForm& form,
                              const format::DataLayout& layout);
void check_extensible_array_fields(const Subject& subject, const ChunkForm& form,
                                   const format::DataLayout& layout);

// The table of shared messages.
void check_shared_table_fields(const Subject& subject, std::uint64_t address, std::uint64_t indexes);
void check_collection_fields(const Context& context, std::uint64_t address);

void check_superblock_fields(const Context& context);
void check_driver_information_fields(Fields& fields, std::string_view driver);

// An old group's tree and heap; the heap alone of names of external files; the scratch pad of an entry of the
// group whose header is at `group`.
void check_old_group_fields(const Subject& subject, std::uint64_t btree, std::uint64_t heap);
void check_name_heap_fields(const Subject& subject, std::uint64_t heap);
void check_scratch_fields(Fields& entry, std::uint64_t cache_type, std::uint64_t group, bool of_root);

// The header, its continuations, messages, and the structures that these lead to.
void check_header_fields(const Subject& subject, std::uint64_t address, bool of_extension);

// The largest creation order of links or attributes, if that message of the object's header has it.
std::optional<Field> largest_order_of(const Subject& subject, const metadata::ObjectHeader& header,
                                      format::MessageType info);
// Compares the creation orders of attributes with the largest, which the attribute info has.
class LargestOrder {
 public:
  explicit LargestOrder(const std::optional<Field>& most) : most_(most) {}
  void take(const Field& order);
  // To be called behind the last one. Where one alone is above, it is that one that is wrong.
  void finish() const;

 private:
  std::optional<Field> most_;
  Field above_;
  std::size_t count_ = 0, above_count_ = 0;
};

// The rules of the specification for messages of one type.
struct MessageForm {
  std::string_view name;
  void (*check)(Fields& message);  // null: the header checks those itself
  enum : std::uint8_t { kRepeats = 1, kShareable = 2, kOfExtension = 4, kOpaque = 8 };
  std::uint8_t properties = 0;
  bool has(std::uint8_t property) const { return (properties & property) != 0; }
};
const MessageForm& message_form(std::uint64_t type);
void check_shared_reference_fields(Fields& message);
void check_datatype_fields(Fields& message);
void check_layout_fields(Fields& message, std::size_t filters);
void check_attribute_fields(Fields& message);
void check_link_fields(Fields& message);
void check_filter_fields(Fields& message);

}  // namespace h5mount::check
