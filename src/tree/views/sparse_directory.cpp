// /.h5/sparse: a mirror of the tree that holds its sparse datasets as what they are: lists of defined
// elements. Each is a directory with the object's own extended attributes (shape and dtype are needed to use
// the lists) and
//
//   coordinates   rank little-endian u64 an element, in row-major order of the dataset
//   values        the elements, as stored, in the same order
//   count         how many there are, as text and a newline
//
// Objects that are neither sparse nor groups are left out. The number of elements is known only once every
// chunk's selection was decoded: a listing does without it.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "../core/inode_numbers.h"
#include "../core/name_list.h"
#include "../core/open_files.h"
#include "../objects/followed_dataset.h"
#include "../objects/object_facts.h"
#include "h5mount/view/text_lines.h"
#include "mirror.h"
#include "virtual_directories.h"

namespace h5mount::tree {

namespace {

constexpr std::string_view kSparseName = "sparse";

// A dataset without elements has no sparse form.
Result<std::uint64_t> element_count(const dataset::DatasetReader& reader, RequestBudget& budget) {
  if (const dataset::SparseForm* form = reader.sparse_form()) return form->count(budget);
  if (reader.size() == 0) return 0;
  return fail({ErrorCode::Internal, "a sparse dataset without its form"});
}

Result<std::string> count_text(const dataset::DatasetReader& reader, RequestBudget& budget) {
  H5_ASSIGN(const std::uint64_t count, element_count(reader, budget));
  return fmt::format("{}\n", count);
}

// One file of a dataset: a list of its elements, or the text of their number.
struct List {
  std::string_view name, media_type;
  // The bytes of an item, and the reading of some bytes of all of them; null: it is the text.
  std::uint64_t (*item_bytes)(const object::DatasetDescription&);
  Status (*read)(const dataset::SparseForm&, std::uint64_t offset, std::uint64_t length, dataset::Pieces& out,
                 RequestBudget& budget);

  Result<std::uint64_t> bytes(const dataset::DatasetReader& reader, RequestBudget& budget) const {
    if (item_bytes == nullptr) {
      H5_ASSIGN(const std::string text, count_text(reader, budget));
      return text.size();
    }
    H5_ASSIGN(const std::uint64_t count, element_count(reader, budget));
    std::uint64_t out = 0;
    if (__builtin_mul_overflow(count, item_bytes(reader.description()), &out))
      return fail({ErrorCode::TooLarge, "more elements than a file can list"});
    return out;
  }
};

constexpr std::array kLists = {
    List{"coordinates", kPlainBytes,
         [](const object::DatasetDescription& d) { return std::uint64_t{8} * d.space.dims.size(); },
         [](const dataset::SparseForm& form, std::uint64_t offset, std::uint64_t length, dataset::Pieces& out,
            RequestBudget& budget) { return form.read_coordinates(offset, length, out, budget); }},
    List{"values", kPlainBytes, [](const object::DatasetDescription& d) { return d.element_size; },
         [](const dataset::SparseForm& form, std::uint64_t offset, std::uint64_t length, dataset::Pieces& out,
            RequestBudget& budget) { return form.read_values(offset, length, out, budget); }},
    List{"count", kPlainText, nullptr, nullptr},
};

class OpenList : public OpenWithoutHoles {
 public:
  OpenList(ServedFilePtr file, DatasetReaderPtr reader, const List& list, std::uint64_t bytes)
      : file_(std::move(file)), reader_(std::move(reader)), list_(list), bytes_(bytes) {}

  Status read(std::uint64_t offset, std::uint64_t length, dataset::Pieces& out,
              RequestBudget& budget) override {
    if (offset >= bytes_) return {};
    budget.allow_for(file_->followed().source()->stored_bytes());
    H5_TRY(list_.read(*reader_->sparse_form(), offset, std::min(length, bytes_ - offset), out, budget));
    return file_->followed().confirm_unchanged();
  }

 private:
  std::uint64_t size() const override { return bytes_; }

  ServedFilePtr file_;
  DatasetReaderPtr reader_;
  const List& list_;
  std::uint64_t bytes_;
};

// State shared by the files of one dataset: its reader, and with that the decoded chunks.
class SparseDataset {
 public:
  SparseDataset(const ServedFilePtr& file, std::uint64_t address, LinkPlace place)
      : dataset_(file, address, std::move(place)) {}

  const ServedFilePtr& file() const { return dataset_.file(); }
  std::uint64_t address() const { return dataset_.address(); }
  Result<std::vector<NodeSource>> sources(RequestBudget& budget) { return dataset_.sources(budget); }
  Result<DatasetReaderPtr> reader(RequestBudget& budget) {
    H5_ASSIGN(const DataStatePtr newest, dataset_.newest(budget));
    if (view::is_shown_as_text(*newest->reader->description().type))
      return fail({ErrorCode::UnsupportedFeature, "sparse storage of a type that is shown as text"});
    return newest->reader;
  }

  NodeKey key(std::string_view name) const {
    return {file().get(), NodeKey::Kind::Sparse, address(), std::string(name)};
  }
  Result<NodeStat> stat(NodeType type, std::string_view name, RequestBudget& budget) const {
    H5_ASSIGN(const OpenedObjectPtr object, file()->object(address(), budget));
    NodeStat stat = object_stat(*file(), object->object, type);
    stat.nlink = 1;
    stat.ino = make_ino(make_ino(file()->ino_of(address()), kSparseName), name);
    return stat;
  }

 private:
  FollowedDataset dataset_;
};
using SparseDatasetPtr = std::shared_ptr<SparseDataset>;

class ListNode : public Node {
 public:
  ListNode(SparseDatasetPtr dataset, const List& list)
      : Node(dataset->key(list.name)), dataset_(std::move(dataset)), list_(list) {}
  std::string_view media_type() const override { return list_.media_type; }

  Result<std::vector<NodeSource>> sources(RequestBudget& budget) override {
    return dataset_->sources(budget);
  }

  Result<NodeStat> stat(StatDepth depth, RequestBudget& budget) override {
    H5_ASSIGN(NodeStat stat, dataset_->stat(NodeType::File, list_.name, budget));
    stat.complete = depth != StatDepth::Listing;
    if (!stat.complete) return stat;
    const auto bytes = size(budget);
    bytes ? set_size(stat, *bytes) : set_unreadable_size(stat);
    H5_TRY(ended_early(budget));
    return stat;
  }

  Result<std::shared_ptr<OpenNode>> open(RequestBudget& budget) override {
    H5_ASSIGN(DatasetReaderPtr reader, dataset_->reader(budget));
    if (list_.read == nullptr) {
      H5_ASSIGN(std::string text, count_text(*reader, budget));
      return open_text(std::move(text));
    }
    H5_ASSIGN(const std::uint64_t bytes, list_.bytes(*reader, budget));
    return std::make_shared<OpenList>(dataset_->file(), std::move(reader), list_, bytes);
  }

 private:
  Result<std::uint64_t> size(RequestBudget& budget) const {
    H5_ASSIGN(const DatasetReaderPtr reader, dataset_->reader(budget));
    return list_.bytes(*reader, budget);
  }

  SparseDatasetPtr dataset_;
  const List& list_;
};

// A sparse dataset has a directory of its own for each link: a directory cannot have two paths.
class SparseDatasetNode : public Node {
 public:
  SparseDatasetNode(const GroupContents& parent, const format::Link& link)
      : Node({parent.file().get(), NodeKey::Kind::Sparse, parent.address(), "/" + link.name}),
        dataset_(std::make_shared<SparseDataset>(parent.file(), link.address,
                                                 LinkPlace{parent.address(), link.name})) {}

  Result<NodeStat> stat(StatDepth, RequestBudget& budget) override {
    H5_ASSIGN(NodeStat stat, dataset_->stat(NodeType::Directory, "", budget));
    stat.ino = make_ino(make_ino(dataset_->file()->ino_of(key().address), kSparseName), key().name);
    return stat;
  }

  Result<NodePtr> child(std::string_view shown, RequestBudget&) override {
    for (const List& list : kLists)
      if (list.name == shown) return std::make_shared<ListNode>(dataset_, list);
    return fail({ErrorCode::NotFound, "no such list"});
  }

  Result<std::shared_ptr<const DirectoryListing>> list(RequestBudget&) override {
    auto out = std::make_shared<NameList>();
    for (const List& list : kLists) out->add(std::string(list.name), NodeType::File);
    return out;
  }

  Result<std::vector<std::string>> list_xattrs(RequestBudget& budget) override {
    H5_ASSIGN(const OpenedObjectPtr object, dataset_->file()->object(dataset_->address(), budget));
    return list_object_xattrs(*dataset_->file(), *object, budget);
  }

  Result<std::string> get_xattr(std::string_view name, RequestBudget& budget) override {
    H5_ASSIGN(const OpenedObjectPtr object, dataset_->file()->object(dataset_->address(), budget));
    return get_object_xattr(*dataset_->file(), *object, name, budget);
  }

 private:
  SparseDatasetPtr dataset_;
};

class SparseMirror : public Mirror {
 public:
  std::string_view name() const override { return kSparseName; }
  NodeType entry_type() const override { return NodeType::Directory; }

  Status for_each_part(ServedFile& file, const OpenedObject& object, RequestBudget&,
                       const std::function<void(std::string)>& each) const override {
    H5_ASSIGN(const bool sparse, is_sparse(file, object));
    if (sparse) each({});
    return {};
  }

  Result<NodePtr> make_node(const GroupContents& group, const format::Link& link, const std::string&,
                            RequestBudget&) const override {
    return std::make_shared<SparseDatasetNode>(group, link);
  }

 private:
  // Fails only if the layout cannot be read; other damage to the dataset does not matter here.
  static Result<bool> is_sparse(ServedFile& file, const OpenedObject& opened) {
    if (opened.object.kind != object::ObjectKind::Dataset) return false;
    if (const auto description = known_description_of(file, opened))
      return (*description)->layout.cls == format::LayoutClass::Structured;
    const object::DatasetParts parts = object::describe_parts(*opened.snapshot, opened.object);
    if (parts.layout || !parts.problem)
      return parts.description.layout.cls == format::LayoutClass::Structured;
    return fail(*parts.problem);
  }
};

}  // namespace

NodePtr make_sparse_directory(const VirtualDirectorySetup& setup) {
  return make_mirror(setup, std::make_shared<SparseMirror>());
}

}  // namespace h5mount::tree
