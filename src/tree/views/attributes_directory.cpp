// /.h5/attributes: attribute NAME of the object at PATH as the text file PATH@NAME, of any size; an attribute
// of the root is @NAME. So an attribute and a child of the same name do not collide (AnnData's `_index`).

#include "../core/inode_numbers.h"
#include "../core/open_files.h"
#include "../objects/attribute_values.h"
#include "../objects/object_facts.h"
#include "../objects/tree_text.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/tree/names.h"
#include "mirror.h"
#include "virtual_directories.h"

namespace h5mount::tree {

namespace {

constexpr std::string_view kAttributesName = "attributes";
constexpr char kAt = '@';
constexpr std::string_view kLostPart = "lost";  // other parts begin with an @

// The text of a value, made once for all open handles and freed with the last of them.
class OpenedValue {
 public:
  explicit OpenedValue(std::uint64_t snapshot) : snapshot_(snapshot) {}
  ~OpenedValue() {
    if (budget_) budget_->give_back(text_.size());
  }

  std::uint64_t snapshot() const { return snapshot_; }

  // `bytes`: the length of the text.
  Status write(ServedFile& file, const object::Attribute& attribute, std::size_t bytes,
               RequestBudget& request) {
    const auto done = once_.get(
        [&]() -> Result<bool> {
          const auto& budget = file.context().open_texts;
          if (bytes > TreeText::most_bytes(file.context()) + limits::kMemoryAboveCache)
            return fail(
                Error(ErrorCode::TooLarge, "a text longer than cache_size can hold").with_found(bytes));
          H5_ASSIGN(charge_, file.context().environment.cache->charge(bytes));
          if (!budget->take(bytes))
            return fail(
                Error(ErrorCode::TooLarge, "too much text of attributes is open at once").with_found(bytes));
          auto text = attribute_text(file, attribute, bytes, request);
          if (text && text->size() == bytes) {
            text_ = *std::move(text);
            budget_ = budget;
            return true;
          }
          budget->give_back(bytes);
          charge_ = {};
          return fail(text ? Error(ErrorCode::Stale, "the text's length changed") : text.error());
        },
        request);
    if (!done) return fail(done.error());
    return {};
  }

  const std::string& text() const { return text_; }

 private:
  std::uint64_t snapshot_;  // number of the snapshot that it was read from
  OnceValue<bool> once_;
  std::string text_;
  cache::BlockCache::Charge charge_;
  std::shared_ptr<ByteBudget> budget_;  // the budget from which the text was charged
};

class AttributeTextNode : public Node {
 public:
  AttributeTextNode(ServedFilePtr file, std::uint64_t object, std::string name)
      : Node({file.get(), NodeKey::Kind::AttributeText, object, std::move(name)}), file_(std::move(file)) {}

  std::string_view media_type() const override { return kPlainText; }

  // A listing does not write a value only to measure it.
  Result<NodeStat> stat(StatDepth depth, RequestBudget& budget) override {
    const std::uint64_t ino = make_ino(make_ino(file_->ino_of(key().address), kAttributesName), key().name);
    NodeStat stat = plain_stat(*file_, NodeType::File, ino);
    stat.complete = depth != StatDepth::Listing;
    if (!stat.complete) return stat;
    H5_ASSIGN(const OpenedObjectPtr object, file_->object(key().address, budget));
    const auto bytes = size(*object, budget);
    bytes ? set_size(stat, *bytes) : set_unreadable_size(stat);
    H5_TRY(ended_early(budget));
    return stat;
  }

  Result<std::shared_ptr<OpenNode>> open(RequestBudget& budget) override {
    H5_ASSIGN(const OpenedObjectPtr object, file_->object(key().address, budget));
    H5_ASSIGN(const std::size_t bytes, size(*object, budget));
    const std::shared_ptr<OpenedValue> value = opened(object->snapshot->number());
    H5_ASSIGN(const object::Attribute attribute, find(*object));
    H5_TRY(value->write(*file_, attribute, bytes, budget));
    return open_text(std::shared_ptr<const std::string>(value, &value->text()));
  }

 private:
  Result<object::Attribute> find(const OpenedObject& object) const {
    return object::find_attribute(*object.snapshot, object.object, key().name);
  }

  Result<std::size_t> size(const OpenedObject& object, RequestBudget& budget) {
    {
      const MutexLock lock(mutex_);
      if (measured_ && measured_->snapshot == object.snapshot->number()) return measured_->bytes;
    }
    H5_ASSIGN(const object::Attribute attribute, find(object));
    Result<std::size_t> bytes = attribute_text_size(*file_, attribute, budget);
    if (!bytes && !meets_all_requests(bytes.error())) return bytes;
    const MutexLock lock(mutex_);
    measured_ = {object.snapshot->number(), bytes};
    return bytes;
  }

  std::shared_ptr<OpenedValue> opened(std::uint64_t snapshot) {
    const MutexLock lock(mutex_);
    std::shared_ptr<OpenedValue> value = opened_.lock();
    if (!value || value->snapshot() != snapshot) opened_ = value = std::make_shared<OpenedValue>(snapshot);
    return value;
  }

  struct Measured {
    std::uint64_t snapshot;
    Result<std::size_t> bytes;  // a failure is not met again and again
  };
  ServedFilePtr file_;
  Mutex mutex_;
  std::optional<Measured> measured_ H5_GUARDED_BY(mutex_);
  std::weak_ptr<OpenedValue> opened_ H5_GUARDED_BY(mutex_);
};

// A part's name is `@` and the attribute's own name.
class AttributesMirror : public Mirror {
 public:
  std::string_view name() const override { return kAttributesName; }
  NodeType entry_type() const override { return NodeType::File; }

  std::string encode(const MirrorEntry& entry) const override {
    if (entry.part.empty()) return encode_name_without_at(entry.link.value_or(""));
    if (entry.part == kLostPart) {
      const std::string shown = (entry.link ? encode_name_without_at(*entry.link) : std::string()) + kAt;
      return shown.size() <= kMaxShownName ? shown : cut_name(shown, shown, kMaxShownName, 0);
    }
    return encode_attribute_place({.object = entry.link, .attribute = entry.part.substr(1)});
  }

  std::optional<MirrorEntry> decode(std::string_view shown) const override {
    if (auto place = decode_attribute_place(shown))
      return MirrorEntry{.link = std::move(place->object), .part = kAt + place->attribute};
    if (shown == std::string_view(&kAt, 1)) return MirrorEntry{.link = {}, .part = std::string(kLostPart)};
    const bool lost = shown.ends_with(kAt);
    auto name = decode_name_without_at(lost ? shown.substr(0, shown.size() - 1) : shown);
    if (name && lost) return MirrorEntry{.link = std::move(name), .part = std::string(kLostPart)};
    if (!name || shown.find(kAt) != std::string_view::npos) return std::nullopt;
    return MirrorEntry{.link = std::move(name), .part = {}};
  }

  std::string (*link_encoding() const)(std::string_view) override { return encode_name_without_at; }

  Status for_each_part(ServedFile&, const OpenedObject& object, RequestBudget&,
                       const std::function<void(std::string)>& each) const override {
    const AttributeNames all = attribute_names(object);
    for (const std::string& attribute : all.names) each(kAt + attribute);
    if (all.damage) return fail(*all.damage);
    return {};
  }

  // PATH@ says why attributes of the object may be missing.
  std::string part_for_damage(const OpenedObject&) const override { return std::string(kLostPart); }

  Status find_part(ServedFile&, const OpenedObject& object, const std::string& part,
                   RequestBudget&) const override {
    if (part.empty()) return fail({ErrorCode::NotFound, "only groups have a directory"});
    if (part == kLostPart) return fail({ErrorCode::NotFound, "no attribute is lost"});
    H5_TRY(object::find_attribute(*object.snapshot, object.object, std::string_view(part).substr(1)));
    return {};
  }

  Result<NodePtr> make_node(const GroupContents& group, const format::Link& link, const std::string& part,
                            RequestBudget&) const override {
    return std::make_shared<AttributeTextNode>(group.file(), link.address, part.substr(1));
  }
};

}  // namespace

NodePtr make_attributes_directory(const VirtualDirectorySetup& setup) {
  return make_mirror(setup, std::make_shared<AttributesMirror>());
}

}  // namespace h5mount::tree
