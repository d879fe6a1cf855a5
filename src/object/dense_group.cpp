// Index records: by name (type 5)            hash of the name (4) | heap id (7)
//                by creation order (type 6)  creation order (8) | heap id (7)
// Names of one hash stand in a row, in the order of their bytes.
#include "group_kinds.h"
#include "h5mount/base/checksum.h"
#include "h5mount/metadata/btree2.h"
#include "h5mount/metadata/fractal_heap.h"

namespace h5mount {

namespace {

constexpr std::uint8_t kNameIndex = 5;
constexpr std::uint8_t kCreationOrderIndex = 6;
constexpr std::size_t kHashBytes = 4;
constexpr std::size_t kCreationOrderBytes = 8;

// Links are listed in batches, each sorted by its place in the heap: one pass over the heap a batch, and at most
// some 10 MiB of ids at a time.
constexpr std::size_t kBatch = 262'144;

Result<Link> decode(const FractalHeap::Object& object) {
  Cursor cursor = object.cursor("LinkMessage");
  return decode_link(cursor);
}

// A shared index, and how many bytes of a record are key.
struct Index {
  std::shared_ptr<const BTree2> tree;
  std::size_t key_bytes = 0;
};

class DenseGroup final : public Group {
 public:
  DenseGroup(FileMetadataPtr file, std::shared_ptr<const FractalHeap> heap, Index index,
             bool creation_order_indexed)
      : file_(std::move(file)),
        heap_(std::move(heap)),
        index_(std::move(index)),
        creation_order_indexed_(creation_order_indexed) {}

  Result<Link> find(std::string_view name) const override {
    return index_.key_bytes == kHashBytes ? find_by_hash(name) : find_by_scan(*this, name);
  }

  Status for_each(const std::function<bool(const Link&)>& visit,
                  const std::function<void(const Error&)>& damaged) const override {
    return within_budget(*file_, visit, [&](const std::function<bool(const Link&)>& each) {
      return for_each_record(each, damaged);
    });
  }

  bool creation_order_indexed() const override { return creation_order_indexed_; }

 private:
  Status for_each_record(const std::function<bool(const Link&)>& visit,
                         const std::function<void(const Error&)>& damaged) const {
    const std::size_t id_bytes = heap_->heap_id_length();
    std::vector<std::byte> ids;
    bool more = true;
    const auto collect = [&](ByteSpan record, std::uint64_t) -> Result<bool> {
      const ByteSpan id = record.subspan(index_.key_bytes, id_bytes);
      ids.insert(ids.end(), id.begin(), id.end());
      if (ids.size() == kBatch * id_bytes) {
        more = visit_batch(ids, visit, damaged);
        ids.clear();
      }
      return more;
    };
    const BTree2::Damaged tell = [&](const Error& error) {
      if (damaged) damaged(error);
    };
    H5_TRY(index_.tree->for_each(collect, tell));
    if (more) visit_batch(ids, visit, damaged);
    return {};
  }

  Result<Link> load(ByteSpan record) const {
    H5_ASSIGN(const FractalHeap::Object object, heap_->read(record.subspan(index_.key_bytes)));
    return decode(object);
  }

  bool visit_batch(ByteSpan ids, const std::function<bool(const Link&)>& visit,
                   const std::function<void(const Error&)>& damaged) const {
    bool more = true;
    heap_->read_many(ids, [&](std::size_t, const Result<FractalHeap::Object>& object) {
      const Result<Link> link = object ? decode(*object) : fail(object.error());
      if (link)
        more = visit(*link);
      else if (damaged)
        damaged(link.error());
      return more;
    });
    return more;
  }

  Result<Link> find_by_hash(std::string_view name) const {
    const std::uint32_t hash = lookup3_checksum(as_bytes(name));
    const auto compare = [hash](ByteSpan record) -> Result<int> {
      const auto found = load_le<std::uint32_t>(record.data());
      return hash == found ? 0 : hash < found ? -1 : 1;
    };
    std::optional<Link> found;
    // Of the few links of this hash a damaged one may still not be the one that is sought.
    std::optional<Error> damage;
    H5_TRY(index_.tree->for_each_from(compare, [&](ByteSpan record, std::uint64_t) -> Result<bool> {
      if (load_le<std::uint32_t>(record.data()) != hash) return false;
      Result<Link> link = load(record);
      if (!link)
        damage = link.error();
      else if (link->name == name)
        found = *std::move(link);
      return !found;
    }));
    if (found) return *std::move(found);
    return fail(damage ? *damage : no_such_link(name));
  }

  FileMetadataPtr file_;
  std::shared_ptr<const FractalHeap> heap_;
  Index index_;
  bool creation_order_indexed_;
};

Result<Index> open_index(const FileMetadataPtr& file, const LinkInfo& info, std::size_t id_bytes) {
  const bool by_name = info.name_index_address != kUndefinedAddress;
  const std::uint64_t address = by_name ? info.name_index_address : info.creation_order_index_address;
  const std::size_t key_bytes = by_name ? kHashBytes : kCreationOrderBytes;
  const std::uint8_t type = by_name ? kNameIndex : kCreationOrderIndex;
  H5_ASSIGN(auto tree, BTree2::open(file, address, {.type = type, .min_bytes = key_bytes + id_bytes}));
  return Index{std::move(tree), key_bytes};
}

}  // namespace

Result<std::unique_ptr<Group>> open_dense_group(FileMetadataPtr file, const LinkInfo& info) {
  H5_ASSIGN(auto heap, FractalHeap::open(file, info.fractal_heap_address));
  H5_ASSIGN(Index index, open_index(file, info, heap->heap_id_length()));
  return std::make_unique<DenseGroup>(std::move(file), std::move(heap), std::move(index),
                                      info.creation_order_indexed);
}

}  // namespace h5mount
