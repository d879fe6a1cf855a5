// Dense group storage: link messages in a fractal heap, located by version 2 B-trees.
//
//   name index record (type 5):            | name hash (4) | heap id (7) |
//   creation order index record (type 6):  | creation order (8) | heap id (7) |
//
// Records with equal hash are adjacent and ordered by the names' bytes.
#include <unordered_set>

#include "group_kinds.h"
#include "h5mount/ahead/prefetch.h"
#include "h5mount/base/checksum.h"
#include "h5mount/base/structures.h"
#include "h5mount/metadata/fractal_heap.h"

namespace h5mount::object {

namespace {

constexpr std::uint8_t kNameIndex = 5;
constexpr std::uint8_t kCreationOrderIndex = 6;
constexpr std::size_t kHashBytes = 4;
constexpr std::size_t kCreationOrderBytes = 8;

// Links are listed in batches, each sorted by heap offset: one pass over the heap per batch, and at most
// about 10 MiB of ids at a time.
constexpr std::size_t kBatch = 262'144;

Result<format::Link> decode(const metadata::FractalHeap::Object& object) {
  format::Cursor cursor = object.cursor(structures::kLinkMessage);
  return format::decode_link(cursor);
}

// An index and the bytes of the key in its records.
struct Index {
  std::shared_ptr<const metadata::BTree2> tree;
  std::size_t key_bytes = 0;
};

Result<Index> open_index(const metadata::FileMetadataPtr& file, std::uint64_t address, std::uint8_t type,
                         std::size_t id_bytes) {
  const std::size_t key_bytes = type == kNameIndex ? kHashBytes : kCreationOrderBytes;
  H5_ASSIGN(auto tree,
            metadata::BTree2::open(file, address, {.type = type, .min_bytes = key_bytes + id_bytes}));
  return Index{std::move(tree), key_bytes};
}

class DenseGroup final : public Group {
 public:
  DenseGroup(metadata::FileMetadataPtr file, std::shared_ptr<const metadata::FractalHeap> heap,
             const format::LinkInfo& info)
      : file_(std::move(file)),
        heap_(std::move(heap)),
        info_(info),
        index_(open_index(info.name_index_address != format::kUndefinedAddress ? kNameIndex
                                                                               : kCreationOrderIndex)) {}

  const Result<Index>& index() const { return index_; }

  Result<format::Link> find(std::string_view name) const override {
    if (!index_) return find_by_scan(*this, name, index_.error());
    if (index_->key_bytes != kHashBytes) return find_by_scan(*this, name);
    auto found = find_by_hash(name);
    if (found || found.error().code() == ErrorCode::NotFound) return found;
    return find_by_scan(*this, name, found.error());
  }

  Status for_each(const std::function<bool(const format::Link&)>& visit,
                  const std::function<void(const Error&)>& damaged) const override {
    ahead::prefetch_links(*file_, info_);
    return within_budget(*file_, visit, [&](const std::function<bool(const format::Link&)>& each) -> Status {
      const Note note = [&](const Error& error) {
        if (damaged) damaged(error);
      };
      Batch batch(*this, &each, &note);
      if (!list_index(index_, [&](ByteSpan id) { return batch.add(id); }, note)) list_rest(batch, note);
      batch.flush();
      return {};
    });
  }

  bool creation_order_indexed() const override { return info_.creation_order_indexed; }

 private:
  using EachId = std::function<bool(ByteSpan heap_id)>;
  using Note = std::function<void(const Error&)>;

  // A batch of links by their heap ids. The functions are passed by pointer and must outlive the batch: a
  // reference could bind to the temporary made from a lambda.
  class Batch {
   public:
    Batch(const DenseGroup& group, const std::function<bool(const format::Link&)>* visit, const Note* note)
        : group_(group), visit_(visit), note_(note) {}

    // Returns false once the visitor has stopped.
    bool add(ByteSpan id) {
      ids_.insert(ids_.end(), id.begin(), id.end());
      if (ids_.size() == kBatch * id.size()) flush();
      return more_;
    }
    void flush() {
      if (!more_) return;
      group_.heap_->read_many(ids_, [&](std::size_t, const Result<metadata::FractalHeap::Object>& object) {
        const Result<format::Link> link = object ? decode(*object) : fail(object.error());
        if (link)
          more_ = (*visit_)(*link);
        else
          (*note_)(link.error());
        return more_;
      });
      ids_.clear();
    }

   private:
    const DenseGroup& group_;
    const std::function<bool(const format::Link&)>* visit_;
    const Note* note_;
    std::vector<std::byte> ids_;
    bool more_ = true;
  };

  Result<Index> open_index(std::uint8_t type) const {
    const std::uint64_t address =
        type == kNameIndex ? info_.name_index_address : info_.creation_order_index_address;
    return h5mount::object::open_index(file_, address, type, heap_->heap_id_length());
  }

  // Passes the ids of all records to `each`; returns false if some may be missing, which is noted.
  bool list_index(const Result<Index>& index, const EachId& each, const Note& note) const {
    if (!index) return note(index.error()), false;
    return for_each_record(
        *file_, *index->tree,
        [&](ByteSpan record, std::uint64_t) -> Result<bool> {
          return each(record.subspan(index->key_bytes, heap_->heap_id_length()));
        },
        note);
  }

  // Records missing from one index may be in the other.
  void list_rest(Batch& batch, const Note& note) const {
    const bool by_name = index_ && index_->key_bytes == kHashBytes;
    const bool other_exists = (by_name || !index_) && info_.name_index_address != format::kUndefinedAddress &&
                              info_.creation_order_index_address != format::kUndefinedAddress;
    if (!other_exists) return;
    const auto text = [](ByteSpan id) { return std::string(as_text(id)); };
    std::unordered_set<std::string> known;
    const auto add_known = [&](ByteSpan id) {
      known.insert(text(id));
      return true;
    };
    if (index_) list_index(index_, add_known, [](const Error&) {});
    list_index(
        open_index(kCreationOrderIndex),
        [&](ByteSpan id) { return known.contains(text(id)) || batch.add(id); }, note);
  }

  Result<format::Link> load(ByteSpan record) const {
    H5_ASSIGN(const metadata::FractalHeap::Object object, heap_->read(record.subspan(index_->key_bytes)));
    return decode(object);
  }

  Result<format::Link> find_by_hash(std::string_view name) const {
    const std::uint32_t hash = lookup3_checksum(as_bytes(name));
    const auto compare = [hash](ByteSpan record) -> Result<int> {
      const auto found = load_le<std::uint32_t>(record.data());
      return hash == found ? 0 : hash < found ? -1 : 1;
    };
    std::optional<format::Link> found;
    // A damaged link with this hash need not be the one that is searched for: the others are tried first.
    std::optional<Error> damage;
    H5_TRY(index_->tree->for_each_from(compare, [&](ByteSpan record, std::uint64_t) -> Result<bool> {
      if (load_le<std::uint32_t>(record.data()) != hash) return false;
      Result<format::Link> link = load(record);
      if (!link)
        damage = link.error();
      else if (link->name == name)
        found = *std::move(link);
      return !found;
    }));
    if (found) return *std::move(found);
    return fail(damage ? *damage : no_such_link(name));
  }

  metadata::FileMetadataPtr file_;
  std::shared_ptr<const metadata::FractalHeap> heap_;
  format::LinkInfo info_;
  Result<Index> index_;  // the name index if present
};

}  // namespace

bool for_each_record(const metadata::FileMetadata& file, const metadata::BTree2& index,
                     const metadata::BTree2::Visit& visit, const std::function<void(const Error&)>& missing) {
  bool whole = true, stopped = false;
  std::uint64_t count = 0;
  const auto damaged = [&](const Error& error) {
    whole = false;
    missing(error);
  };
  const Status walked = index.for_each(
      [&](ByteSpan record, std::uint64_t offset) -> Result<bool> {
        ++count;
        H5_ASSIGN(const bool more, visit(record, offset));
        stopped = !more;
        return more;
      },
      damaged);
  if (!walked) damaged(walked.error());
  if (whole && !stopped && count != index.record_count() && !file.following())
    damaged(
        Error(ErrorCode::InvalidValue, structures::kBTree2Header, "total_record_count", index.file_offset())
            .with_found(index.record_count())
            .with_expected(count));
  return whole;
}

Result<std::unique_ptr<Group>> open_dense_group(metadata::FileMetadataPtr file,
                                                const format::LinkInfo& info) {
  ahead::prefetch_links(*file, info, 1);
  H5_ASSIGN(auto heap, metadata::FractalHeap::open(file, info.fractal_heap_address));
  auto group = std::make_unique<DenseGroup>(std::move(file), std::move(heap), info);
  // A damaged index is permanent, so the group is opened without it; an I/O error may be temporary and is
  // returned.
  if (!group->index() && is_momentary(group->index().error())) return fail(group->index().error());
  return group;
}

}  // namespace h5mount::object
