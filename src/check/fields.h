// Fields: reads the bytes of one structure field by field and compares each with what the specification says
// of it, beyond what readers need: what readers refuse is found by them. Every byte of a structure belongs to
// a field, so that the report learns of all fields (check.h: FieldReport). Threads: one at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "context.h"
#include "h5mount/check/check.h"
#include "h5mount/format/cursor.h"
#include "h5mount/format/data_layout.h"
#include "h5mount/format/fractal_heap_blocks.h"
#include "h5mount/format/messages.h"
#include "h5mount/metadata/fractal_heap.h"

namespace h5mount::check {

inline constexpr std::string_view kBehindEnd = "lies behind the end of the file";

class Fields {
 public:
  Fields(const Context& context, PlaceId place, format::Cursor cursor)
      : context_(context), place_(place), cursor_(cursor), begin_(cursor.here()) {}

  // ---- reads: 0, or no bytes, once the structure has ended

  std::uint64_t uint(std::size_t width, std::string_view name) {
    return met(cursor_.uint(width, name), width);
  }
  std::uint8_t u8(std::string_view name) { return static_cast<std::uint8_t>(uint(1, name)); }
  std::uint16_t u16(std::string_view name) { return static_cast<std::uint16_t>(uint(2, name)); }
  std::uint32_t u32(std::string_view name) { return static_cast<std::uint32_t>(uint(4, name)); }
  std::uint64_t address(std::string_view name) { return met(cursor_.address(name), sizes().offsets); }
  std::uint64_t length(std::string_view name) { return met(cursor_.length(name), sizes().lengths); }
  std::uint64_t plain_length(std::string_view name) {
    return met(cursor_.plain_length(name), sizes().lengths);
  }
  ByteSpan bytes(std::uint64_t count, std::string_view name);
  void signature(std::size_t count = 4) { (void)bytes(count, "signature"); }
  // Bytes that are reserved and zero.
  void zeros(std::size_t count, std::string_view name);
  // A text that ends with a NUL.
  std::string_view c_string(std::string_view name);
  // The checksum of all bytes from the structure's first one on, which readers verify.
  void checksum();
  // The checksum in the midst of a block of so many bytes.
  void checksum_of_block(std::uint64_t bytes);
  // A part that is a structure of its own. It is skipped here.
  Fields part(std::uint64_t count, std::string_view structure);

  // ---- checks of the field read last, or of one that was kept

  format::Field last() const { return cursor_.last(); }
  bool want(bool condition, std::string_view why) { return want(condition, last(), why); }
  bool want(bool condition, const format::Field& field, std::string_view why);
  bool want_equal(std::uint64_t expected, std::string_view why) { return want_equal(expected, last(), why); }
  bool want_equal(std::uint64_t expected, const format::Field& field, std::string_view why);
  // An address below the end of what is stored, with so many bytes behind it; undefined ones are passed.
  bool want_stored(std::uint64_t bytes, std::string_view why) { return want_stored(last(), bytes, why); }
  bool want_stored(const format::Field& field, std::uint64_t bytes, std::string_view why);

  bool ok() const { return cursor_.ok(); }
  std::size_t remaining() const { return cursor_.remaining(); }
  std::size_t position() const { return cursor_.position(); }
  std::uint64_t here() const { return cursor_.here(); }
  ByteSpan rest() const { return cursor_.rest(); }
  format::FileSizes sizes() const { return cursor_.sizes(); }
  void set_sizes(format::FileSizes sizes) { cursor_.set_sizes(sizes); }
  std::string_view structure() const { return cursor_.structure(); }
  const Context& context() const { return context_; }
  PlaceId place() const { return place_; }
  // The structure lies in the file as it is read: not in a filtered block.
  void is_copy() { copy_ = true; }

 private:
  std::uint64_t met(std::uint64_t value, std::uint64_t bytes);

  const Context& context_;
  PlaceId place_;
  format::Cursor cursor_;
  std::uint64_t begin_;
  bool copy_ = false;
};

// What the records of an index tell of the objects of a fractal heap.
struct HeapUse {
  std::uint64_t managed = 0, managed_bytes = 0, huge = 0, huge_bytes = 0, tiny = 0, tiny_bytes = 0;
  bool whole = true;  // whether all ids could be read
};

// A version 2 B-tree with records of that type and size. `record` reads the fields of one; they come in
// their order.
struct Tree2 {
  std::uint64_t address = 0;
  std::uint8_t type = 0;
  std::uint64_t record_bytes = 0;
  std::string_view record_name;
};
void check_btree2_fields(const Context& context, PlaceId place, const Tree2& tree,
                         const std::function<void(Fields& record)>& record);

// A fractal heap. `use` is of all its objects; null: not known.
void check_heap_fields(const Context& context, PlaceId place, std::uint64_t address, const HeapUse* use);
// The fields of an id of that heap, which `use` receives.
class HeapIds {
 public:
  HeapIds(const Context& context, std::uint64_t heap_address);
  void check_id(Fields& record, std::size_t bytes);
  // Keeps the id that was checked last, with a field of its record, until `read_kept`, which calls
  // visit(record, field, plain, object) for each object, in the order of the heap, if it can be read.
  // `plain`: its bytes lie in the file as they are.
  void keep(const Fields& record, const format::Field& field);
  // Whether the id that was checked last, with these flags of a message, is one that `names` has.
  void want_known(Fields& record, const HeapIds& names, const format::Field* flags);
  // Remembers the id that was checked last, for another index.
  void remember(std::uint64_t flags);
  bool is_full() const { return kept_.size() >= kMostKept; }
  using Visit = std::function<void(Fields& record, const format::Field& field, bool plain,
                                   const metadata::FractalHeap::Object& object)>;
  void read_kept(const Visit& visit);
  HeapUse& use() { return use_; }

 private:
  void check_managed(Fields& record, std::size_t left);

  std::shared_ptr<const metadata::FractalHeap> heap_;
  std::optional<format::FractalHeapHeader> header_;
  struct Kept {
    Fields record;
    format::Field field;
    bool plain;
  };
  static constexpr std::size_t kMostKept = 16'384;

  struct Known {
    std::uint64_t length, flags;
  };
  static constexpr std::size_t kMostKnown = 1U << 20;

  format::Field place_, length_;  // of the id that was checked last: where its object is
  std::unordered_map<std::uint64_t, Known> known_;
  std::vector<std::byte> id_, kept_ids_;
  std::vector<Kept> kept_;
  bool plain_ = false;
  HeapUse use_;
};

// Free space: the manager at that address, of the file or of a heap.
void check_free_space_fields(const Context& context, PlaceId place, std::uint64_t address, bool of_heap,
                             std::uint64_t space_end);

// The dense links and attributes of an object.
void check_dense_links_fields(const Context& context, PlaceId place, const format::LinkInfo& info);
// `most`: the largest creation order, if it is tracked.
void check_dense_attributes_fields(const Context& context, PlaceId place, const format::AttributeInfo& info,
                                   const std::optional<format::Field>& most);
// The chunks of a dataset, as their index has them.
struct ChunkForm {
  std::size_t rank = 0;
  std::size_t filters = 0;
  std::uint64_t chunk_bytes = 0;
  bool structured = false;
  std::optional<std::uint64_t> most_chunks;  // of the largest extent, if that is limited
};
void check_chunk_tree_fields(const Context& context, PlaceId place, const ChunkForm& form,
                             std::uint64_t root);
void check_chunk_records_fields(const Context& context, PlaceId place, const ChunkForm& form,
                                const format::DataLayout& layout);
void check_fixed_array_fields(const Context& context, PlaceId place, const ChunkForm& form,
                              const format::DataLayout& layout);
void check_extensible_array_fields(const Context& context, PlaceId place, const ChunkForm& form,
                                   const format::DataLayout& layout);

// The table of shared messages.
void check_shared_table_fields(const Context& context, std::uint64_t address, std::uint8_t indexes);
void check_collection_fields(const Context& context, std::uint64_t address);

// The bytes of a structure, which is checked once: nullopt if it was checked before, cannot be read, or if
// more was read than a sound file has.
std::optional<metadata::MetadataBlock> take_structure(const Context& context, std::uint64_t address,
                                                      std::uint64_t bytes, std::string_view structure);

// ---- the structures

void check_superblock_fields(const Context& context);
void check_driver_information_fields(Fields& fields, std::string_view driver);

// An old group's tree and heap; the heap alone of names of external files; the scratch pad of an entry of the
// group whose header is at `group`.
void check_old_group_fields(const Context& context, PlaceId place, std::uint64_t btree, std::uint64_t heap);
void check_name_heap_fields(const Context& context, PlaceId place, std::uint64_t heap);
void check_scratch_fields(Fields& entry, std::uint32_t cache_type, std::uint64_t group, bool of_root);

// The header, its continuations, messages, and the structures that these lead to.
void check_header_fields(const Context& context, PlaceId place, std::uint64_t address, bool extension);

// What is known of the object whose header is checked.
struct Owner {
  std::uint64_t address = 0;
  std::uint8_t header_version = 2;
  bool extension = false;
  std::optional<format::Field> max_creation_index;  // of its attributes
  std::size_t filters = 32;                         // of its pipeline, at most
};
// Compares the creation orders of attributes with the largest, which the attribute info has.
class LargestOrder {
 public:
  explicit LargestOrder(const std::optional<format::Field>& most) : most_(most) {}
  void take(const Fields& record, const format::Field& order);
  // To be called behind the last one. Where one alone is above, it is that one that is wrong.
  void finish();

 private:
  std::optional<format::Field> most_;
  std::optional<std::pair<Fields, format::Field>> above_;
  std::size_t count_ = 0, above_count_ = 0;
};
void check_message_fields(Fields& message, std::uint16_t type, const Owner& owner);
void check_shared_reference_fields(Fields& message);
void check_datatype_fields(Fields& message);
void check_layout_fields(Fields& message, std::size_t filters);
void check_attribute_fields(Fields& message);
void check_link_fields(Fields& message);
void check_filter_fields(Fields& message);

}  // namespace h5mount::check
