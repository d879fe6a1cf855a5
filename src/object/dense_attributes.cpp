// Dense attribute storage: attribute messages in a fractal heap, located by version 2 B-trees.
//
//   name index record (type 8):
//   | heap id (8) | message flags (1) | creation order (4) | name hash (4) |
//   creation order index record (type 9):
//   | heap id (8) | message flags (1) | creation order (4) |
//
// If a record's flags say "shared", its id belongs to the shared message heap instead. The hash is lookup3
// of the name; a search compares the names of all records with the same hash.
#include <algorithm>
#include <unordered_set>

#include "attribute_parts.h"
#include "group_kinds.h"
#include "h5mount/ahead/prefetch.h"
#include "h5mount/base/checksum.h"
#include "h5mount/base/structures.h"
#include "h5mount/metadata/fractal_heap.h"
#include "h5mount/metadata/shared_messages.h"

namespace h5mount::object::attribute_parts {

namespace {

constexpr std::uint16_t kHeapIdBytes = 8;
constexpr std::uint8_t kNameIndex = 8;
constexpr std::uint8_t kCreationOrderIndex = 9;

struct Record {
  ByteSpan heap_id;
  bool shared = false;
  std::uint32_t creation_order = 0;
  std::uint32_t hash = 0;  // name index only
};

Result<Record> decode_record(ByteSpan bytes, std::uint64_t offset, std::uint8_t index_type) {
  constexpr std::uint8_t kSharedFlag = 0x02;
  format::Cursor cursor(bytes, offset, "AttributeIndexRecord",
                        {});  // sizes unused: the record has no addresses or lengths
  Record record;
  record.heap_id = cursor.bytes(kHeapIdBytes, "heap_id");
  record.shared = (cursor.u8("message_flags") & kSharedFlag) != 0;
  record.creation_order = cursor.u32("creation_order");
  if (index_type == kNameIndex) record.hash = cursor.u32("name_hash");
  return cursor.finish(record);
}

Result<std::shared_ptr<const metadata::BTree2>> open_index(const metadata::FileMetadataPtr& file,
                                                           std::uint64_t address, std::uint8_t type) {
  constexpr std::size_t kMinBytes = kHeapIdBytes + 1 + 4;
  return metadata::BTree2::open(file, address,
                                {.type = type, .min_bytes = kMinBytes + (type == kNameIndex ? 4 : 0)});
}

Result<Attribute> from_object(const metadata::FileMetadata& file,
                              const Result<metadata::FractalHeap::Object>& object, AttributeDetail detail) {
  if (!object) return fail(object.error());
  return make_attribute(file, object->cursor("AttributeMessage"), object->owner, detail);
}

Result<Attribute> read_shared(const metadata::FileMetadata& file, ByteSpan heap_id, std::uint64_t offset,
                              AttributeDetail detail) {
  const metadata::SharedMessages* shared = file.shared_messages();
  if (shared == nullptr)
    return fail(Error(ErrorCode::InvalidValue, "AttributeIndexRecord", "message_flags", offset)
                    .with_detail("shared, but the file has no shared message table"));
  return from_object(
      file, shared->read(format::MessageType::Attribute, load_le<std::uint64_t>(heap_id.data())), detail);
}

// The attributes of one listing, in the order of the result.
class Listing {
 public:
  Listing(const metadata::FileMetadata& file, AttributeDetail detail, std::function<void(Attribute&)> examine)
      : file_(file), budget_(file), detail_(detail), examine_(std::move(examine)) {}

  // Collects the records of an index that no earlier index had; returns false if some may be missing.
  bool collect(const Result<std::shared_ptr<const metadata::BTree2>>& index) {
    const auto missing = [&](const Error& error) { errors_.push_back(error); };
    if (!index) return missing(index.error()), false;
    return for_each_record(
        file_, **index,
        [&](ByteSpan bytes, std::uint64_t offset) -> Result<bool> {
          H5_ASSIGN(const Record record, decode_record(bytes, offset, (*index)->type()));
          add_record(record, offset);
          return true;
        },
        missing);
  }

  void read(const metadata::FractalHeap& heap) {
    heap.read_many(ids_, [&](std::size_t index, const Result<metadata::FractalHeap::Object>& object) {
      add(from_object(file_, object, detail_), orders_[index]);
      return budget_.status(kListing).has_value();
    });
  }

  Status show(bool by_creation_order, const std::function<bool(const Attribute&)>& visit,
              const std::function<void(const Error&)>& damaged) {
    H5_TRY(budget_.status(kListing));
    if (by_creation_order)
      std::ranges::stable_sort(found_, {}, [](const Attribute& a) { return a.creation_order.value_or(0); });
    for (const Error& error : errors_)
      if (damaged) damaged(error);
    for (const Error& error : unreadable_)
      if (damaged) damaged(error);
    for (Attribute& attribute : found_) {
      if (!by_creation_order) attribute.creation_order.reset();
      if (!visit(attribute)) return {};
    }
    return {};
  }

 private:
  void add_record(const Record& record, std::uint64_t offset) {
    if (!seen_.insert(load_le<std::uint64_t>(record.heap_id.data())).second) return;
    if (record.shared) return add(read_shared(file_, record.heap_id, offset, detail_), record.creation_order);
    ids_.insert(ids_.end(), record.heap_id.begin(), record.heap_id.end());
    orders_.push_back(record.creation_order);
  }

  void add(Result<Attribute> attribute, std::uint32_t order) {
    if (!attribute) {
      unreadable_.push_back(attribute.error());
      return;
    }
    if (examine_) examine_(*attribute);
    // Estimated bytes of an attribute besides its value: its datatype and its part of a heap block.
    constexpr std::size_t kOverheadBytes = 256;
    if (!budget_.take(attribute->name.size() + attribute->data.size() + kOverheadBytes)) return;
    attribute->creation_order = order;
    found_.push_back(*std::move(attribute));
  }

  static constexpr std::string_view kListing = "attributes";
  const metadata::FileMetadata& file_;
  ListingBudget budget_;
  AttributeDetail detail_;
  std::function<void(Attribute&)> examine_;
  std::vector<std::byte> ids_;  // packed, kHeapIdBytes each
  std::vector<std::uint32_t> orders_;
  std::vector<Attribute> found_;
  std::unordered_set<std::uint64_t> seen_;  // heap ids
  std::vector<Error> errors_;               // errors of the indexes
  std::vector<Error> unreadable_;           // errors of individual attributes
};

Result<std::shared_ptr<const metadata::FractalHeap>> open_heap(const metadata::FileMetadataPtr& file,
                                                               const format::AttributeInfo& info) {
  return metadata::FractalHeap::open(file, info.fractal_heap_address, kHeapIdBytes);
}

// Non-owning: the caller keeps the file alive while heap and index are used.
metadata::FileMetadataPtr borrow(const metadata::FileMetadata& file) {
  return {metadata::FileMetadataPtr(), &file};
}

}  // namespace

Status for_each_dense(const metadata::FileMetadata& file, const format::AttributeInfo& info,
                      const std::function<bool(const Attribute&)>& visit,
                      const std::function<void(const Error&)>& damaged, AttributeDetail detail,
                      const std::function<void(Attribute&)>& examine) {
  const metadata::FileMetadataPtr borrowed = borrow(file);
  ahead::prefetch_links(file, info);
  H5_ASSIGN(const auto heap, open_heap(borrowed, info));
  Listing listing(file, detail, examine);
  // Records missing from the name index may be in the creation order index.
  const bool whole = listing.collect(open_index(borrowed, info.name_index_address, kNameIndex));
  if (!whole && info.creation_order_index_address != format::kUndefinedAddress)
    listing.collect(open_index(borrowed, info.creation_order_index_address, kCreationOrderIndex));
  listing.read(*heap);
  return listing.show(info.creation_order_tracked, visit, damaged);
}

namespace {

Result<Attribute> search_dense(const metadata::FileMetadata& file, const format::AttributeInfo& info,
                               std::string_view name) {
  const metadata::FileMetadataPtr borrowed = borrow(file);
  H5_ASSIGN(const auto heap, open_heap(borrowed, info));
  H5_ASSIGN(const auto index, open_index(borrowed, info.name_index_address, kNameIndex));
  const std::uint32_t hash = lookup3_checksum(as_bytes(name));
  const auto compare = [&](ByteSpan bytes) -> Result<int> {
    H5_ASSIGN(const Record record, decode_record(bytes, 0, kNameIndex));
    return hash < record.hash ? -1 : hash > record.hash ? 1 : 0;
  };
  std::optional<Attribute> found;
  std::optional<Error> met;
  H5_TRY(index->for_each_from(compare, [&](ByteSpan bytes, std::uint64_t offset) -> Result<bool> {
    H5_ASSIGN(const Record record, decode_record(bytes, offset, kNameIndex));
    if (record.hash != hash) return false;
    auto attribute = record.shared ? read_shared(file, record.heap_id, offset, AttributeDetail::Full)
                                   : from_object(file, heap->read(record.heap_id), AttributeDetail::Full);
    if (!attribute) {
      met = attribute.error();
      return true;
    }
    if (attribute->name != name) return true;
    if (info.creation_order_tracked) attribute->creation_order = record.creation_order;
    found = *std::move(attribute);
    return false;
  }));
  if (found) return *std::move(found);
  if (met) return fail(*met);
  return fail(no_such_attribute());
}

}  // namespace

// If the search finds damage, the attribute may still be among the readable ones, so all of these are
// searched.
Result<Attribute> find_dense(const metadata::FileMetadata& file, const format::AttributeInfo& info,
                             std::string_view name) {
  auto searched = search_dense(file, info, name);
  if (searched || searched.error().code() == ErrorCode::NotFound) return searched;
  std::optional<Attribute> found;
  const auto visit = [&](const Attribute& attribute) {
    if (attribute.name == name) found = attribute;
    return !found;
  };
  (void)for_each_dense(file, info, visit, nullptr, AttributeDetail::Full, nullptr);
  if (found) return *std::move(found);
  return searched;
}

}  // namespace h5mount::object::attribute_parts
